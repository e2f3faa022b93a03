from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.errors import DefinitionError
from airflow_provider_runtime.dag_factory import ProjectTaskGroup, project_dag, project_dags
from airflow_provider_runtime.dag_factory.catalog_outline import read_catalog_outline

pytestmark = pytest.mark.airflow

EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"
WriteCatalog = Callable[..., Path]

PROJECT = """
project:
  id: {id}
  name: {id}
  version: 1
  input_dataset_id: {reads}
  level: {level}
  operations:
    - seq: 10
      name: write
      type: output
      arguments:
        destination: {{datasource_id: lake, path: {id}}}
        {registers}
  airflow: {airflow}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> WriteCatalog:
    def write(
        name: str = "close", airflow: str = "{}", reads: str = "ledger", registers: str = "", level: str = "month"
    ) -> Path:
        folder = tmp_path / "catalog"
        folder.mkdir(exist_ok=True)
        registers = f"register_as_dataset: {registers}" if registers else ""
        text = PROJECT.format(id=name, airflow=airflow, reads=reads, registers=registers, level=level)
        (folder / f"{name}.yaml").write_text(text)
        return folder

    return write


def store(dag: DAG) -> Any:
    """Return the DAG as the scheduler sees it."""
    return DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))


def test_example_catalog_gives_a_dag_for_each_project_that_can_be_stored() -> None:
    dags = project_dags(EXAMPLES / "catalog")

    assert {"fx-close", "budget-review", "quarterly-close", "valuation", "store-sales"} <= set(dags)
    for dag in dags.values():
        assert set(store(dag).task_dict) == {"resolve", "run"}


def test_airflow_block_sets_the_dag(catalog: WriteCatalog) -> None:
    settings = (
        '{start_date: "2026-01-01", timezone: Europe/Berlin, retries: 5, retry_delay: 2m, pool: spark, tags: [a, b],'
        " owner: finance, max_active_runs: 2, allow_closed: true, requires_previous_period: true,"
        " deadline: {after_period_end: 3d}, wait_for_data: {up_to: 2d, every: 5m},"
        " spark: {conn_id: cluster, executor_memory: 2G}}"
    )
    dag = project_dag("close", catalog(airflow=settings))
    resolve, run = dag.get_task("resolve"), dag.get_task("run")

    assert dag.tags == {"a", "b"}
    assert dag.max_active_runs == 2
    assert dag.start_date is not None
    assert dag.start_date.utctimetuple()[:5] == (2025, 12, 31, 23, 0)
    assert [alert.interval for alert in dag.deadline] == [timedelta(days=3)]
    for task in (resolve, run):
        assert (task.owner, task.pool, task.retries, task.retry_delay) == ("finance", "spark", 5, timedelta(minutes=2))
    assert (run._conn_id, run._executor_memory) == ("cluster", "2G")
    assert resolve.requires_previous_period
    assert (resolve.wait_for_data, resolve.poke_interval) == (timedelta(days=2), 300)
    assert resolve.allow_closed
    assert store(dag).deadline


def test_both_tasks_are_tried_again_with_growing_delay(catalog: WriteCatalog) -> None:
    folder = catalog()
    with DAG("own", schedule=None) as own:
        ProjectTaskGroup("close", folder)
    with DAG("careful", schedule=None, default_args={"retries": 7}) as careful:
        ProjectTaskGroup("close", folder)

    for dag, retries in ((project_dag("close", folder), 2), (own, 2), (careful, 7)):
        for task in dag.tasks:
            assert (task.retries, bool(task.retry_exponential_backoff)) == (retries, True)


@pytest.mark.parametrize(
    ("settings", "kind", "summary"),
    [
        ("{}", "PeriodTimetable", "each month (gregorian)"),
        ('{schedule: "0 6 3 * *"}', "PeriodTimetable", "0 6 3 * * month (gregorian)"),
        ('{schedule: "@midnight"}', "PeriodTimetable", "@midnight month (gregorian)"),
        ('{schedule: "@annually"}', "PeriodTimetable", "@annually month (gregorian)"),
        ("{schedule: null}", "PartitionedAtRuntime", None),
    ],
)
def test_schedule_becomes_a_timetable(catalog: WriteCatalog, settings: str, kind: str, summary: str | None) -> None:
    timetable = store(project_dag("close", catalog(airflow=settings))).timetable

    assert type(timetable).__name__ == kind
    assert summary is None or timetable.summary == summary


def test_run_by_hand_takes_a_partition_key_or_the_forms_period(catalog: WriteCatalog) -> None:
    dag = store(project_dag("close", catalog(airflow="{schedule: null, start_date: 2026-01-01}")))

    dag.validate_partition_key("2026-01")
    assert not dag.timetable.can_be_scheduled
    assert dag.params.deep_merge({"period": "2026-02"}).validate()["period"] == "2026-02"


def test_upstream_schedule_waits_for_the_months_of_a_quarter(catalog: WriteCatalog) -> None:
    catalog("close", registers="Monthly Close")
    folder = catalog("quarter", reads="Monthly Close", level="quarter", airflow="{schedule: upstream}")

    timetable = store(project_dag("quarter", folder)).timetable
    mapper = timetable.get_partition_mapper(uri="runtime://datasets/Monthly%20Close")

    assert mapper.to_upstream("2026-Q2") == {"2026-04", "2026-05", "2026-06"}
    assert timetable.resolve_partition_date("2026-Q2") == datetime(2026, 4, 1, tzinfo=UTC)


def test_upstream_schedule_finds_a_dataset_by_its_id(catalog: WriteCatalog) -> None:
    from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id

    catalog("close", registers="Monthly Close")
    folder = catalog("review", reads=registered_dataset_id("Monthly Close"), airflow="{schedule: upstream}")

    assert [key.uri for key, _ in store(project_dag("review", folder)).timetable.asset_condition.iter_assets()] == [
        "runtime://datasets/Monthly%20Close"
    ]


def test_upstream_schedule_without_registered_dataset_is_refused(catalog: WriteCatalog) -> None:
    with pytest.raises(DefinitionError, match="reads no registered dataset"):
        project_dag("close", catalog(airflow="{schedule: upstream}"))


def test_project_that_reads_from_one_of_an_unknown_level_leaves_the_others_their_dags(catalog: WriteCatalog) -> None:
    catalog("other")
    catalog("close", registers="Monthly Close", level="fortnight")
    folder = catalog("quarter", reads="Monthly Close", level="quarter", airflow="{schedule: upstream}")

    assert list(project_dags(folder)) == ["other"]


def test_registered_output_is_an_outlet_with_a_stable_uri(catalog: WriteCatalog) -> None:
    dag = project_dag("close", catalog(registers="Monthly Close"))

    assert [asset.uri for asset in dag.get_task("run").outlets] == ["runtime://datasets/Monthly%20Close"]


@pytest.mark.parametrize("allow_open", [False, True])
def test_trigger_form_offers_the_periods_that_can_be_run(catalog: WriteCatalog, allow_open: bool) -> None:
    settings = f"{{allow_open_period: {str(allow_open).lower()}}}"
    param = project_dag("close", catalog(airflow=settings)).params.get_param("period")
    today = datetime.now(UTC)
    # Without open periods the latest is the month before this one's first day.
    day = today if allow_open else today.replace(day=1) - timedelta(days=1)

    assert param.schema["examples"][0] == f"{day.year}-{day.month:02}"
    assert f"{today.year - 1}-01" in param.schema["examples"]
    assert param.resolve("2199-01") == "2199-01"


def test_a_year_without_an_ended_period_offers_those_of_the_last() -> None:
    from airflow_provider_runtime.core.model.period import GREGORIAN
    from airflow_provider_runtime.dag_factory.schedules import _offer_periods

    assert _offer_periods(GREGORIAN, "quarter", date(2026, 3, 31), False)[0] == "2025-Q4"
    assert _offer_periods(GREGORIAN, "quarter", date(2026, 4, 1), False)[0] == "2026-Q1"
    assert _offer_periods(GREGORIAN, "quarter", date(2026, 4, 1), True)[0] == "2026-Q2"
    assert _offer_periods(GREGORIAN, "day", date(2026, 1, 5), True) == ()


def test_pages_of_dag_and_run_task_hold_the_operations_as_a_table(catalog: WriteCatalog) -> None:
    dag = project_dag("close", catalog(registers="Monthly Close"))

    for text in (dag.doc_md, dag.get_task("run").doc_md):
        assert "| 10 | write | output | to lake: close, registered as Monthly Close |" in (text or "")
        assert "mermaid" not in (text or "")


@pytest.mark.parametrize(
    ("deadline", "words"),
    [
        ("{after_period_end: 3d}", "within 3 days of the period's end"),
        ("{after_period_end: 1d12h}", "within 1 day 12 hours of the period's end"),
        ("{after_queued: 2h}", "within 2 hours of being queued"),
    ],
)
def test_deadline_reads_as_people_say_it(catalog: WriteCatalog, deadline: str, words: str) -> None:
    alert = project_dag("close", catalog(airflow=f"{{deadline: {deadline}}}")).deadline[0]

    assert alert.name == words
    assert alert.callback.kwargs["deadline"] == words


def test_unknown_spark_argument_names_the_nearest(catalog: WriteCatalog) -> None:
    with pytest.raises(DefinitionError) as raised:
        project_dag("close", catalog(airflow="{spark: {executor_memroy: 2G}}"))

    assert raised.value.problems[0].code == "CATALOG_002"
    assert "executor_memory" in str(raised.value.problems[0].hint)


def test_unknown_project_names_the_nearest(catalog: WriteCatalog) -> None:
    with pytest.raises(DefinitionError) as raised:
        project_dag("clsoe", catalog())

    assert raised.value.problems[0].code == "PROJECT_001"


def test_broken_project_leaves_the_others_their_dags(catalog: WriteCatalog, caplog: pytest.LogCaptureFixture) -> None:
    folder = catalog("close")
    (folder / "broken.yaml").write_text("project: {id: broken, nmae: x}")

    with caplog.at_level(logging.ERROR):
        dags = project_dags(folder)

    assert set(dags) == {"close"}
    assert "broken.yaml" in caplog.text


def test_symbolic_links_are_followed_and_a_dangling_one_leaves_the_others_their_dags(
    catalog: WriteCatalog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = catalog("close")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "linked.yaml").write_text((folder / "close.yaml").read_text().replace("close", "linked"))
    (folder / "link").symlink_to(elsewhere)
    (folder / "dangling.yaml").symlink_to(tmp_path / "nothing")

    with caplog.at_level(logging.ERROR):
        dags = project_dags(folder)

    assert set(dags) == {"close", "linked"}
    assert "dangling.yaml" in caplog.text


AIRFLOW_BLOCKS = [
    *[f'{{schedule: "{word}"}}' for word in ("@once", "@quarterly", "@continuous", "@midnight", "@annually")],
    *[f'{{schedule: "{cron}"}}' for cron in ("0 6 3 * *", "0 0 30 2 *", "0 0 3 * * 0", "0 6 L * *", "61 * * * *")],
    *[f'{{retry_delay: "{text}"}}' for text in ("0s", "2H", "2 h", " 2h", "1d12h", "5 minutes", "90s")],
    *[f'{{deadline: {{after_queued: "{text}"}}}}' for text in ("0s", "2h", "3D")],
    *[f"{{wait_for_data: {{{text}}}}}" for text in ("up_to: 3d, every: 10m", "up_to: 3d", "up_to: soon", "every: 1h")],
    *[f'{{start_date: "{text}"}}' for text in ("2026-01-01", "2026-01-01T06:00:00", "2026-02-30")],
    "{timezone: Mars/Base}",
]


@pytest.mark.parametrize("settings", AIRFLOW_BLOCKS)
def test_airflow_block_gives_a_dag_exactly_when_it_is_valid(catalog: WriteCatalog, settings: str) -> None:
    folder = catalog(airflow=settings)
    is_valid = not [
        found for found in load_catalog(folder).problems if (found.location.field or "").startswith("airflow")
    ]

    assert set(project_dags(folder)) == ({"close"} if is_valid else set())


def test_changed_file_is_read_again_and_the_rest_from_the_cache(catalog: WriteCatalog) -> None:
    folder = catalog("close")
    catalog("other")
    project_dags(folder)
    catalog("close", level="quarter")

    outline = read_catalog_outline(folder)

    assert {project.id: project.level for project in outline.projects} == {"close": "quarter", "other": "month"}


def test_damaged_cache_is_made_anew(catalog: WriteCatalog) -> None:
    from airflow_provider_runtime.dag_factory.catalog_outline import _get_cache_path

    folder = catalog("close")
    project_dags(folder)
    _get_cache_path(folder).write_text("{not json")

    assert set(project_dags(folder)) == {"close"}


def test_task_group_works_in_a_dag_of_the_users_own(catalog: WriteCatalog) -> None:
    folder = catalog("close")
    with DAG("own", schedule=None) as dag:
        group = ProjectTaskGroup("close", folder)

    assert set(dag.task_dict) == {"close.resolve", "close.run"}
    assert group.run.upstream_task_ids == {"close.resolve"}


def test_relative_catalog_is_beside_the_dag_file(catalog: WriteCatalog, tmp_path: Path) -> None:
    catalog("close")
    file = tmp_path / "dag_file.py"
    file.write_text(
        "from airflow_provider_runtime.dag_factory import project_dag\ndag = project_dag('close', 'catalog')\n"
    )
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)

    assert names["dag"].fileloc == str(file)


PARSE = """
import sys, warnings
warnings.simplefilter("ignore")
import airflow.sdk, airflow.providers.apache.spark.operators.spark_submit
from airflow.timetables import base
from airflow_provider_runtime.dag_factory import project_dags
dags = project_dags(sys.argv[1])
print(len(dags))
heavy = ("pyspark", "lark", "alembic", "duckdb", "pyarrow", "pandas")
print([name for name in sys.modules if name.split(".")[0] in heavy or name.endswith("core.registry.sql")])
"""


def test_parsing_many_projects_imports_nothing_heavy(catalog: WriteCatalog, tmp_path: Path) -> None:
    for number in range(50):
        folder = catalog(f"project-{number}", registers=f"Result {number}")
    home = tmp_path / "home"
    environment = {"AIRFLOW_HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", PARSE, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-2:] == ["50", "[]"]


def test_one_project_of_many_reads_only_its_file(catalog: WriteCatalog) -> None:
    for number in range(50):
        folder = catalog(f"project-{number}")
    outline = read_catalog_outline(folder, "project-7")

    assert [project.id for project in outline.projects] == ["project-7"]
    assert len(outline.files) == 1

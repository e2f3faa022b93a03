from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.utils.state import TaskInstanceState

from airflow_provider_runtime.operators.lineage import (
    SourceColumn,
    _name_location,
    make_operator_lineage,
    read_plan,
    trace_plan,
)
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from spark_jobs.contract.checks import CheckResult
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.plan import TableTrace
from spark_jobs.contract.report import OutputReport, Report
from spark_jobs.contract.tables import Location
from tests.airflow.tasks import FakeSpark, FakeTask

pytestmark = pytest.mark.airflow

EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"


@pytest.fixture
def snapshot_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(EXAMPLES / "catalog", tmp_path / "catalog")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    operator = ResolveOperator(task_id="resolve", project="fx-close")
    return str(operator.execute(FakeTask().context("resolve"))["snapshot_uri"])


def test_lineage_follows_a_column_through_joins_and_aggregates(snapshot_uri: str, tmp_path: Path) -> None:
    outputs = (OutputReport(30, "ledger", 13, ()), OutputReport(60, "close", 10, ()))
    report = Report("a", 1, "succeeded", outputs=outputs)
    found = trace_plan(read_plan(snapshot_uri), report)
    ledger, close, _ = found.outputs
    data = f"{tmp_path}/data/fx_close"

    assert (ledger.namespace, ledger.name, ledger.rows) == ("file", f"{tmp_path}/warehouse/ledger_usd", 13)
    assert ledger.columns["amount_usd"] == {
        SourceColumn("file", f"{data}/transactions/2026-01.csv", "amount_local"),
        SourceColumn("file", f"{data}/exchange_rates.csv", "rate"),
    }
    assert ledger.columns["amount_usd"] <= close.columns["actual_usd"]
    assert {source.column for source in close.columns["budget_usd"]} == {"amount"}


def test_lineage_names_every_input_with_its_schema(snapshot_uri: str, tmp_path: Path) -> None:
    inputs = {dataset.name: dict(dataset.schema) for dataset in trace_plan(read_plan(snapshot_uri)).inputs}

    assert {name.removeprefix(f"{tmp_path}/data/fx_close/") for name in inputs} == {
        "transactions/2026-01.csv",
        "exchange_rates.csv",
        "accounts.csv",
        "budgets/2026-01.csv",
    }
    assert "rate" in inputs[f"{tmp_path}/data/fx_close/exchange_rates.csv"]


def test_checks_are_assertions_about_the_data_quality_of_their_output(snapshot_uri: str) -> None:
    lost = CheckResult(
        name="nothing lost", output=30, kind="value", on_fail="block", status="failed", value="5", expected="6"
    )
    total = CheckResult(name="total", output=30, kind="value", on_fail="warn", status="recorded", value="5")
    unique = CheckResult(name="one row a line", output=30, kind="unique", on_fail="warn", status="passed")
    report = Report("a", 1, "failed", checks=(lost, total, unique))
    found = make_operator_lineage(read_plan(snapshot_uri), report)
    facets = {output.name.rsplit("/", 1)[-1]: output.facets for output in found.outputs}
    told = [(entry.success, entry.name) for entry in facets["ledger_usd"]["dataQualityAssertions"].assertions]
    assert told == [(False, "nothing lost"), (True, "one row a line")]
    assert "dataQualityAssertions" not in facets["monthly_close"]


def test_lineage_without_openlineage_is_nothing(snapshot_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage.extractors", None)
    assert make_operator_lineage(read_plan(snapshot_uri)) is None


def test_registered_dataset_is_the_same_place_for_writer_and_reader(snapshot_uri: str) -> None:
    plan = read_plan(snapshot_uri)
    registered = [found for found in trace_plan(plan).outputs if found.namespace == "runtime://datasets"]
    assert [found.name for found in registered] == ["Monthly Close"]
    assert registered[0].columns == trace_plan(plan).outputs[1].columns

    trace = {"input": TableTrace("Monthly Close", resolver_id="registry")}
    reader = replace(plan, settings=replace(plan.settings, trace=trace))
    read = {(found.namespace, found.name) for found in trace_plan(reader).inputs}
    assert (registered[0].namespace, registered[0].name) in read


def test_databases_are_named_as_openlineage_asks_for() -> None:
    location = Location("jdbc", table="finance.close", options={"url": "jdbc:postgresql://db/books?user=u"})
    assert _name_location(location) == ("postgres://db:5432", "books.finance.close")
    location = replace(location, options={"url": "jdbc:postgresql://db:6543/books"})
    assert _name_location(location) == ("postgres://db:6543", "books.finance.close")


def test_tables_have_one_name_whatever_their_version_and_for_writer_and_reader() -> None:
    folder, files = "file:///lake/ledger", "file:///lake/ledger/_period=2026-01"
    written = Destination(kind="table", format="delta", uri=folder, display="lake")
    assert _name_location(Location(kind="table", format="delta", uri=files, table=folder)) == ("file", "/lake/ledger")
    assert _name_location(written) == ("file", "/lake/ledger")
    read = Location(kind="table", format="iceberg", uri="file:///w/f/ledger/data/x", table="finance.ledger")
    uri = "file:///w/f/ledger/data"
    written = Destination(kind="table", format="iceberg", display="lake", uri=uri, table="finance.ledger")
    assert _name_location(read) == _name_location(written) == ("iceberg", "finance.ledger")


def test_event_of_a_run_is_emitted_as_openlineage_writes_it(
    home: Path, spark: FakeSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.file import FileConfig, FileTransport

    task = FakeTask()
    operator = RunProjectOperator(
        task_id="run", snapshot=ResolveOperator(task_id="resolve", project="fx-close").execute(task.context("resolve"))
    )
    operator.execute(task.context())
    context = task.context()
    found = ExtractorManager().extract_metadata(
        context["dag_run"], operator, TaskInstanceState.SUCCESS, task_instance=context["ti"]
    )
    log = tmp_path / "events.json"
    client = OpenLineageClient(transport=FileTransport(FileConfig(log_file_path=str(log), append=True)))
    moment = datetime(2026, 2, 1, tzinfo=UTC).isoformat()
    run_id = "019e807a-ec00-7000-8b2d-b36000000000"
    OpenLineageAdapter(client).complete_task(run_id, "close.run", moment, found, moment, moment, None, None, None)

    event = json.loads(log.read_text())
    assert event["eventType"] == "COMPLETE"
    outputs = {(output["namespace"], output["name"]): output for output in event["outputs"]}
    assert ("runtime://datasets", "Monthly Close") in outputs
    ledger = outputs["file", f"{tmp_path}/warehouse/ledger_usd"]
    assert ledger["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert {field["name"]: field["type"] for field in ledger["facets"]["schema"]["fields"]}["amount_usd"].startswith(
        "decimal("
    )
    sources = ledger["facets"]["columnLineage"]["fields"]["amount_usd"]["inputFields"]
    assert {(source["name"].rsplit("/", 1)[1], source["field"]) for source in sources} == {
        ("2026-01.csv", "amount_local"),
        ("exchange_rates.csv", "rate"),
    }
    rates = next(found for found in event["inputs"] if found["name"].endswith("/exchange_rates.csv"))
    assert "rate" in {field["name"] for field in rates["facets"]["schema"]["fields"]}

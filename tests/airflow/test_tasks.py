from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.core.presence.files import has_files
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.hooks.storage import AirflowStorage, open_store
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from airflow_provider_runtime.timetables.assets import make_asset
from tests.airflow.tasks import FakeSpark, FakeTask

pytestmark = pytest.mark.airflow

DATA_ERROR = {
    "code": "DATA_003",
    "message": "12 does not fit",
    "hint": "widen the type",
    "file": "fx.yaml",
    "line": 7,
}


def resolve(task: FakeTask, project: str = "fx-close", **arguments: Any) -> dict[str, Any]:
    return ResolveOperator(task_id="resolve", project=project, **arguments).execute(task.context("resolve"))


def run(task: FakeTask, pins: Any, **arguments: Any) -> Any:
    operator = RunProjectOperator(task_id="run", snapshot=pins, **arguments)
    return operator.execute(task.context())


# resolve


def test_resolve_takes_the_partition_key_and_returns_pins(home: Path) -> None:
    pins = resolve(FakeTask(partition_key="2026-02", params={"period": "2026-01"}))

    assert pins["period"] == "2026-02"
    assert pins["snapshot_uri"] == f"file://{home}/.runtime/snapshots/{pins['snapshot_sha256']}.json"
    assert pins["resolver_snapshot"]["join_datasets"][0]["alias"] == "fx"


@pytest.mark.parametrize(
    ("task", "explicit", "expected"),
    [
        (FakeTask(partition_key="2026-02"), "2026-03", "2026-03"),
        (FakeTask(partition_key=None, params={"period": "2026-02"}), None, "2026-02"),
        (FakeTask(partition_key=None, logical_date=datetime(2026, 1, 31, tzinfo=UTC)), None, "2026-01"),
    ],
)
def test_resolve_without_key_takes_the_next_best(
    home: Path, task: FakeTask, explicit: str | None, expected: str
) -> None:
    assert resolve(task, period=explicit)["period"] == expected


def test_resolve_without_any_period_says_so(home: Path) -> None:
    with pytest.raises(AirflowFailException, match="no partition key"):
        resolve(FakeTask(partition_key=None))


@pytest.mark.parametrize(("key", "code"), [("2199-01", "PERIOD_003"), ("2026-13", "PERIOD_001")])
def test_resolve_refuses_a_period_that_cannot_be_run(home: Path, key: str, code: str) -> None:
    with pytest.raises(AirflowFailException, match=code):
        resolve(FakeTask(partition_key=key))


def test_resolve_of_an_open_period_needs_to_be_asked_for(home: Path) -> None:
    today = datetime.now(UTC)
    task = FakeTask(partition_key=f"{today.year}-{today.month:02}")
    with pytest.raises(AirflowFailException, match="PERIOD_004"):
        resolve(task)

    assert resolve(task, allow_open_period=True)["period"] == task.partition_key


def test_resolve_of_a_closed_period_needs_to_be_asked_for(home: Path) -> None:
    registry = open_registry(f"sqlite:///{home}/.runtime/registry.db")
    registry.set_period_status("gregorian", "2026-01", "closed", who="test", reason="test")
    registry.close()
    with pytest.raises(AirflowFailException, match="PERIOD_002"):
        resolve(FakeTask())

    assert resolve(FakeTask(), allow_closed=True)["period"] == "2026-01"


def test_resolve_finds_a_relative_catalog_beside_the_dag_file(home: Path) -> None:
    from airflow.sdk import DAG

    with DAG("close", schedule=None) as dag:
        operator = ResolveOperator(task_id="resolve", project="fx-close", catalog="catalog")
    dag.fileloc = str(home / "dag.py")

    assert operator.execute(FakeTask().context("resolve"))["period"] == "2026-01"


def test_resolve_of_an_unknown_project_names_it(home: Path) -> None:
    with pytest.raises(AirflowFailException, match="PROJECT_001"):
        resolve(FakeTask(), "fx-clsoe")


def test_resolve_is_not_stopped_by_another_projects_mistake(home: Path) -> None:
    (home / "catalog" / "other.yaml").write_text("project: {id: other, nmae: x}")

    assert resolve(FakeTask())["period"] == "2026-01"


def test_resolve_waits_for_the_period_before_and_gives_up_in_time(home: Path) -> None:
    task = FakeTask(partition_key="2026-02")
    arguments: dict[str, Any] = {"requires_previous_period": True, "execution_timeout": timedelta(hours=1)}
    with pytest.raises(AirflowRescheduleException):
        resolve(task, **arguments)
    task.first_reschedule = datetime.now(UTC) - timedelta(hours=2)

    with pytest.raises(AirflowFailException, match="PERIOD_005"):
        resolve(task, **arguments)


def test_resolve_does_not_wait_before_the_projects_first_period(home: Path) -> None:
    assert resolve(FakeTask(), requires_previous_period=True)["period"] == "2026-01"


WAIT: dict[str, Any] = {"wait_for_data": timedelta(hours=1)}


def test_resolve_waits_until_all_that_it_reads_is_there(home: Path) -> None:
    file = home / "data" / "fx_close" / "transactions" / "2026-02.csv"
    content = file.read_bytes()
    file.unlink()
    task = FakeTask(partition_key="2026-02")
    with pytest.raises(AirflowRescheduleException):
        resolve(task, **WAIT)
    file.write_bytes(content)

    assert resolve(task, **WAIT)["period"] == "2026-02"


def test_resolve_says_what_never_came(home: Path) -> None:
    (home / "data" / "fx_close" / "transactions" / "2026-02.csv").unlink()
    task = FakeTask(partition_key="2026-02", first_reschedule=datetime.now(UTC) - timedelta(hours=2))

    with pytest.raises(AirflowFailException, match=r"DATA_001.*transactions/2026-02.csv after waiting 1:00:00"):
        resolve(task, **WAIT)


def test_resolve_waits_for_the_slices_of_a_registered_dataset(home: Path, spark: FakeSpark) -> None:
    first = FakeTask()
    run(first, resolve(first))
    with pytest.raises(AirflowRescheduleException):
        resolve(FakeTask(partition_key="2026-02"), "budget-review", **WAIT)


def test_stores_that_only_fsspec_knows_are_asked_and_unknown_ones_are_reported() -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/bucket/a.csv", b"x")
    assert has_files(open_store("memory://bucket/*.csv", None), "memory://bucket/*.csv")
    assert not has_files(open_store("memory://bucket/b.csv", None), "memory://bucket/b.csv")
    with pytest.raises(LookupError, match="neither Airflow nor fsspec has a file system for 'abc:'"):
        open_store("abc://bucket/a.csv", None)


def test_resolve_does_not_wait_for_what_no_data_mend(home: Path) -> None:
    with pytest.raises(AirflowFailException, match="PERIOD_001"):
        resolve(FakeTask(partition_key="2026-13"), **WAIT)


# run


def test_run_registers_and_updates_the_asset(home: Path, spark: FakeSpark) -> None:
    task = FakeTask()
    asset = make_asset("Monthly Close")
    report = run(task, resolve(task), outlets=[asset])

    assert report["status"] == "succeeded"
    assert [output["registered_version"] for output in report["outputs"]] == [None, 1]
    assert task.events[asset].partition_keys == {"2026-01"}
    assert {"period": "2026-01", "version": 1, "rows": 3}.items() <= task.events[asset].extra.items()


def test_run_finds_the_snapshot_of_the_resolve_task_before_it(home: Path, spark: FakeSpark) -> None:
    from airflow.sdk import DAG

    task = FakeTask()
    task.xcom["resolve"] = resolve(task)
    with DAG("close", schedule=None):
        before = ResolveOperator(task_id="resolve", project="fx-close")
        operator = RunProjectOperator(task_id="run")
        before >> operator

    assert operator.execute(task.context())["period"] == "2026-01"


def _copy_elsewhere(home: Path, pins: dict[str, Any]) -> dict[str, Any]:
    copied = home / f"{pins['snapshot_sha256']}.json"
    copied.write_bytes(Path(pins["snapshot_uri"].removeprefix("file://")).read_bytes())
    return {**pins, "snapshot_uri": f"file://{copied}"}


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (_copy_elsewhere, "outside of the store"),
        (
            lambda home, pins: resolve(FakeTask(partition_key="2026-02")),
            "of fx-close, 2026-02, and not of fx-close, 2026-01",
        ),
        (lambda home, pins: resolve(FakeTask(), "valuation"), "and not of fx-close, 2026-01"),
        (lambda home, pins: {**pins, "snapshot_sha256": "0" * 64}, "outside of the store"),
        (lambda home, pins: "nonsense", "was given no snapshot"),
    ],
    ids=["elsewhere", "other period", "other project", "other digest", "nonsense"],
)
@pytest.mark.parametrize("is_linked", [True, False])
def test_xcom_that_points_elsewhere_is_refused(
    home: Path, spark: FakeSpark, forge: Any, said: str, is_linked: bool
) -> None:
    from airflow.sdk import DAG

    task = FakeTask()
    forged = forge(home, resolve(task))
    task.xcom["resolve"] = forged
    with DAG("close", schedule=None):
        before = ResolveOperator(task_id="resolve", project="fx-close")
        operator = RunProjectOperator(task_id="run", **({"snapshot": before.output} if is_linked else {}))
        before >> operator
    if is_linked:
        # What Airflow does before it executes a task.
        operator.snapshot = forged

    with pytest.raises(AirflowFailException, match="SNAPSHOT_001") as caught:
        operator.execute(task.context())
    assert said in str(caught.value)
    assert spark.calls == []


def test_run_raises_what_the_job_reports_and_not_its_exit_status(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SUBMIT_ERROR", json.dumps(DATA_ERROR))
    task = FakeTask()

    with pytest.raises(AirflowFailException, match=r"DATA_003 12 does not fit\n.*fx\.yaml:7.*\n.*widen the type"):
        run(task, resolve(task))


def test_run_without_report_is_retried(home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SUBMIT_SILENT", "1")
    task = FakeTask()
    pins = resolve(task)
    with pytest.raises(AirflowException, match="without a report") as raised:
        run(task, pins)
    assert not isinstance(raised.value, AirflowFailException)
    monkeypatch.delenv("FAKE_SUBMIT_SILENT")

    assert run(task, pins)["status"] == "succeeded"
    assert spark.attempts[0] < spark.attempts[1]


def test_killed_driver_is_reported_in_one_sentence(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SUBMIT_KILLED", "1")
    task = FakeTask()
    with pytest.raises(AirflowException) as raised:
        run(task, resolve(task))

    assert not isinstance(raised.value, AirflowFailException)
    assert "INFRA_001" in str(raised.value)
    assert "was killed by signal SIGKILL without a report" in str(raised.value)
    assert "--snapshot" not in str(raised.value)


def test_failure_is_reported_and_gives_the_lease_back_when_the_report_cannot_be_read(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, uri: str) -> None:
        raise InfrastructureError(Problem("INFRA_001", f"cannot read {uri}: timed out"))

    monkeypatch.setenv("FAKE_SUBMIT_KILLED", "1")
    monkeypatch.setattr(AirflowStorage, "find_bytes", fail)
    task = FakeTask()
    with pytest.raises(AirflowException, match="was killed by signal SIGKILL"):
        run(task, resolve(task))
    (found,) = open_registry(f"sqlite:///{home}/.runtime/registry.db").list_runs()
    assert found.status == "failed"


def test_retry_after_a_lost_answer_does_not_run_again_and_a_clear_does(home: Path, spark: FakeSpark) -> None:
    task = FakeTask()
    pins = resolve(task)
    run(task, pins)
    assert run(task, pins)["status"] == "succeeded"
    assert len(spark.calls) == 1
    task.clear_number = 1

    run(task, pins)

    assert len(spark.calls) == 2


def test_changed_snapshot_is_refused(home: Path, spark: FakeSpark) -> None:
    task = FakeTask()
    pins = resolve(task)
    file = Path(pins["snapshot_uri"].removeprefix("file://"))
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b"fx-close", b"fx-clos3"))

    with pytest.raises(AirflowFailException, match="SNAPSHOT_001"):
        run(task, pins)
    assert spark.calls == []


def test_missing_spark_connection_is_an_error(home: Path, spark: FakeSpark) -> None:
    task = FakeTask()

    with pytest.raises(AirflowFailException, match="Spark connection 'nowhere' is not defined"):
        run(task, resolve(task), conn_id="nowhere")
    assert spark.calls == []


def test_credential_reaches_the_driver_in_its_environment_alone(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LEDGER", json.dumps({"conn_type": "generic", "login": "u", "password": "canary"}))
    source = home / "catalog" / "fx_close" / "sources.yaml"
    source.write_text(
        source.read_text().replace("id: warehouse\n", "id: warehouse\n  credential_ref: airflow://ledger\n")
    )
    task = FakeTask()

    run(task, resolve(task))

    (call,) = spark.calls
    assert "canary" not in json.dumps(call["arguments"])
    assert [json.loads(text) for text in call["secrets"].values()] == [{"user": "u", "password": "canary"}]
    assert "canary" not in caplog.text
    files = [path for path in home.rglob("*") if path.is_file() and path != spark.log]
    assert not [path for path in files if b"canary" in path.read_bytes()]


def test_retry_of_a_run_whose_end_airflow_missed_returns_its_whole_result(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    asset = make_asset("Monthly Close")
    with monkeypatch.context() as patch:
        patch.setattr(RunProjectOperator, "_conclude", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(task, pins, outlets=[asset])

    report = run(task, pins, outlets=[asset])
    assert len(spark.calls) == 1
    assert [output["registered_version"] for output in report["outputs"] if output["registered_dataset"]] == [1]
    assert task.events[asset].partition_keys == {"2026-01"}
    assert task.events[asset].extra["version"] == 1


def test_project_that_needs_an_approval_is_staged_and_not_published(home: Path, spark: FakeSpark) -> None:
    project = next(path for path in (home / "catalog").rglob("*.yaml") if "name: fx-close" in path.read_text())
    text = project.read_text()
    approval = "publication: {approval: required, by: [ann]}"
    project.write_text(text.replace("name: fx-close\n", f"name: fx-close\n  {approval}\n", 1))
    task = FakeTask()
    pins = resolve(task)
    assert run(task, pins)["status"] == "staged"
    assert run(task, pins)["status"] == "staged"
    assert len(spark.calls) == 1
    registry = open_registry(f"sqlite:///{home}/.runtime/registry.db")
    record = registry.find_run(pins["run_id"])
    assert record is not None
    assert (record.status, record.who) == ("staged", "airflow")
    assert registry.list_publications("fx-close") == []


def test_job_that_compares_gets_the_location_of_a_tables_published_rows(home: Path, spark: FakeSpark) -> None:
    import runpy

    import pyarrow as pa
    from deltalake import write_deltalake

    runpy.run_path(str(home / "data" / "tables" / "make_ledger.py"), run_name="__main__")
    project = next(
        path
        for path in (home / "catalog" / "tables").rglob("*.yaml")
        if "name: intercompany-balances" in path.read_text()
    )
    text = project.read_text()
    asked = "name: intercompany-balances\n  publication: {compare: true}\n"
    project.write_text(text.replace("name: intercompany-balances\n", asked, 1))
    row = {"company": ["DE01"], "_period": ["2026-01"]}
    write_deltalake(str(home / "data" / "tables" / "results" / "balances"), pa.table(row), partition_by=["_period"])
    task = FakeTask()
    run(task, resolve(task, "intercompany-balances"))
    arguments = spark.calls[0]["arguments"]
    told = Path(arguments[arguments.index("--published") + 1].removeprefix("file://"))
    ((location,),) = json.loads(told.read_bytes())["outputs"].values()
    assert (location["period"], location["version"], len(location["files"])) == ("2026-01", "0", 1)


def test_task_that_verifies_hands_the_earlier_report_to_the_job(home: Path, spark: FakeSpark) -> None:
    task = FakeTask()
    pins = resolve(task)
    run(task, pins, verify=True)
    task.clear_number = 1
    run(task, pins, verify=True)
    first, again = (call["arguments"] for call in spark.calls)
    assert "--verify" not in first
    assert "--verify" in again
    earlier = Path(again[again.index("--earlier") + 1].removeprefix("file://"))
    assert json.loads(earlier.read_bytes())["attempt"] == spark.attempts[0]


def test_stores_of_a_deployment_are_made_for_their_user_alone(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = {name: home / "elsewhere" / name for name in ("snapshot_store", "slice_store")}
    given = {"conn_type": "runtime", "extra": {name: str(folder) for name, folder in stores.items()}}
    monkeypatch.setenv("AIRFLOW_CONN_RUNTIME_DEFAULT", json.dumps(given))
    task = FakeTask()
    run(task, resolve(task))
    for folder in (home / "elsewhere", *stores.values()):
        assert folder.stat().st_mode & 0o777 == 0o700, folder

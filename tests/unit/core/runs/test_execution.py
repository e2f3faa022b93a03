from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pytest

from airflow_provider_runtime.core.errors import DataError, LeaseError, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Attempt
from airflow_provider_runtime.core.runs import execution as execution_module
from airflow_provider_runtime.core.runs.begin import begin_attempt
from airflow_provider_runtime.core.runs.execution import Execution
from airflow_provider_runtime.core.runs.finish import fail_attempt, finish_attempt
from airflow_provider_runtime.core.runs.keep_alive import keep_alive
from airflow_provider_runtime.core.runs.report import public_report, read_report
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.operations import Destination, OutputOperation, Slice
from spark_jobs.contract.plan import Plan, Settings, UsedDefinition
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.contract.snapshot import Period, Project, ResolverSnapshot, Snapshot
from spark_jobs.contract.tables import Column

SHA = "c" * 64


def make_snapshot() -> Snapshot:
    definition = {
        "id": "ds-id",
        "name": "FX Result",
        "resolver_id": "registry",
        "main_table": {
            "name": "FX_Result",
            "temporal_mode": "period",
            "columns": [{"name": "journal", "type": "string", "nullable": False}],
        },
    }
    output = OutputOperation(
        seq=50,
        name="result",
        mark="50",
        columns=(Column("journal", "string", nullable=False),),
        include_deleted=False,
        write_mode="replace_period",
        destination=Destination("files", "parquet", "lake:fx"),
        slice=Slice("ds-id", "FX Result", "file:/slices/ds-id", definition),
    )
    settings = Settings(
        calendar="fiscal",
        definitions=(UsedDefinition("dataset", "gl", 1, "sha256:1"),),
    )
    pins = ResolverSnapshot(
        input_dataset_id="gl",
        input_dataset_version=1,
        resolver_id="files",
        resolver_version=1,
        resolver_source="dataset_resolver",
        join_datasets=(),
        append_datasets=(),
        lookup_datasets=(),
    )
    return Snapshot(
        run_id="run-1",
        run_timestamp=datetime(2026, 2, 1, tzinfo=UTC),
        project=Project("p", "fx", 1, "sha256:0"),
        project_snapshot={},
        period=Period("2026-01", "month", date(2026, 1, 1), date(2026, 1, 31)),
        as_of=date(2026, 1, 1),
        resolver_snapshot=pins,
        plan=Plan({}, "input", (), (output,), {}, "fx", settings),
        sha256=SHA,
    )


def make_report(of: Attempt, **changes: Any) -> dict[str, Any]:
    output = {
        "seq": 50,
        "destination": "lake:fx",
        "rows": 3,
        "columns": ["journal"],
        "registered_dataset": "FX Result",
        "slice": {"uri": "file:/slices/ds-id/2026-01/1", "rows": 3},
    }
    report = {
        "snapshot_sha256": SHA,
        "attempt": of.token,
        "run_id": "run-1",
        "status": "succeeded",
        "period": "2026-01",
        "operations": [],
        "outputs": [output],
        "timings": {},
        "rows_in": 9,
        "error": None,
    }
    return report | changes


def read(report: dict[str, Any]) -> Report:
    return read_report(json.dumps(report).encode())


def test_finish_registers_a_definition_that_the_model_accepts() -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    report = make_report(attempt)
    registrations = finish_attempt(registry, attempt, snapshot, read(report))
    version = registry.find_version("FX Result")
    assert version is not None
    dataset = Dataset.model_validate_json(json.dumps(version.definition))
    assert dataset.main_table.name == "FX_Result"
    assert [(column.name, str(column.data_type)) for column in dataset.main_table.columns] == [
        ("journal", "string"),
    ]
    assert public_report(read(report), registrations)["outputs"][0]["registered_version"] == 1


@pytest.mark.parametrize("changes", [{"snapshot_sha256": "d" * 64}, {"attempt": 1}, {"status": "failed"}])
def test_finish_with_a_report_of_something_else_is_refused(changes: dict[str, Any]) -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        finish_attempt(registry, attempt, snapshot, read(make_report(attempt, **changes)))
    assert registry.list_datasets() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"uri": "s3a://attacker/forged"},
        {"uri": "file:///etc/anything"},
        {"uri": "file:/slices/ds-id/2026-02/1"},
        {"uri": "file:/slices/ds-id/2026-01"},
        {"uri": "file:/slices/ds-id/2026-01/"},
        {"uri": "file:/slices/ds-id/2026-01/.."},
        {"uri": "file:/slices/ds-id/2026-01/../../other"},
        {"uri": "file:/slices/ds-id/2026-01/a/b"},
        {"uri": "file:/slices/ds-id/2026-01/{a,b}"},
        {"uri": "file:/slices/ds-id/2026-01/a\n"},
        {"rows": -1},
        {"rows": 10**30},
        {"content": "no digest"},
    ],
)
def test_slice_that_the_job_cannot_have_written_is_not_registered(changes: dict[str, Any]) -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    report = make_report(attempt)
    report["outputs"][0]["slice"] |= changes
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        finish_attempt(registry, attempt, snapshot, read(report))
    assert registry.list_datasets() == []


def test_keep_alive_reports_once_that_the_attempt_was_replaced() -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    lost: list[RuntimeProviderError] = []
    told = threading.Event()

    def hear(error: RuntimeProviderError) -> None:
        lost.append(error)
        told.set()

    with keep_alive(lambda: registry.heartbeat(attempt), hear, interval_seconds=0.01):
        begin_attempt(registry, snapshot)
        assert told.wait(5)
    assert [type(error) for error in lost] == [LeaseError]


def test_fail_with_a_foreign_exception_keeps_its_kind_and_not_its_text() -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    assert fail_attempt(registry, attempt, ValueError("password=hunter2"))
    run = registry.find_run("run-1")
    assert run is not None
    assert run.calendar == "fiscal"
    assert "hunter2" not in str(run.error)
    assert "ValueError" in str(run.error)


class FakeJob:
    """A job that does what a test wants, and notes that it was stopped."""

    def __init__(self, run: Callable[[], Report]) -> None:
        self.run = run
        self.stopped = threading.Event()

    def stop(self) -> None:
        self.stopped.set()


def begin_execution(registry: MemoryRegistry) -> Execution:
    execution = Execution(registry, make_snapshot(), "file:/s")
    execution.begin()
    return execution


def test_execution_registers_what_its_job_reports() -> None:
    registry = MemoryRegistry()
    execution = begin_execution(registry)
    (registration,) = execution.run(FakeJob(lambda: read_document(Report, make_report(execution.attempt))))
    assert registration.version == 1
    run = registry.find_run("run-1")
    assert run is not None
    assert run.status == "succeeded"


def test_execution_records_what_its_job_failed_for() -> None:
    registry = MemoryRegistry()
    execution = begin_execution(registry)
    error = ErrorReport("DATA_003", "12 does not fit", line=7)
    with pytest.raises(DataError, match="12 does not fit"):
        execution.run(FakeJob(lambda: Report(SHA, execution.attempt.token, "failed", error=error)))
    run = registry.find_run("run-1")
    assert run is not None
    assert (run.status, run.error) == ("failed", asdict(error))
    begin_attempt(registry, replace(make_snapshot(), sha256="d" * 64, run_id="run-2"))


def test_execution_that_is_replaced_stops_its_job_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_module, "keep_alive", partial(keep_alive, interval_seconds=0.01))
    registry = MemoryRegistry()
    execution = begin_execution(registry)

    def run() -> Report:
        begin_attempt(registry, make_snapshot())
        assert job.stopped.wait(5)
        raise InterruptedError

    job = FakeJob(run)
    with pytest.raises(LeaseError, match="RUN_002"):
        execution.run(job)
    run_record = registry.find_run("run-1")
    assert run_record is not None
    assert (run_record.status, run_record.attempt) == ("running", 2)

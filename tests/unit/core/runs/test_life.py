from __future__ import annotations

import json
import threading
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.errors import LeaseError, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Attempt
from airflow_provider_runtime.core.runs.life import (
    begin_attempt,
    fail_attempt,
    finish_attempt,
    keep_alive,
    public_report,
    read_report,
)
from spark_jobs.contract.plan import (
    Column,
    Destination,
    OutputOperation,
    Plan,
    RegisteredDataset,
    Settings,
    Slice,
    UsedDefinition,
)
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import Period, Project, ResolverSnapshot, Snapshot

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
        columns_after=(),
        columns=(Column("journal", "string", nullable=False),),
        include_deleted=False,
        write_mode="replace_period",
        destination=Destination("files", "parquet", "lake:fx"),
        slice=Slice("ds-id", "FX Result", "file:/slices/ds-id"),
    )
    settings = Settings(
        calendar="fiscal",
        definitions=(UsedDefinition("dataset", "gl", 1, "sha256:1"),),
        registers={"50": RegisteredDataset("ds-id", "FX Result", definition)},
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


def test_keep_alive_tells_once_when_the_attempt_was_replaced() -> None:
    registry, snapshot = MemoryRegistry(), make_snapshot()
    attempt = begin_attempt(registry, snapshot)
    lost: list[RuntimeProviderError] = []
    told = threading.Event()

    def hear(error: RuntimeProviderError) -> None:
        lost.append(error)
        told.set()

    with keep_alive(registry, attempt, hear, interval_seconds=0.01):
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


def test_open_registry_makes_the_folder_of_its_file(tmp_path: Path) -> None:
    from airflow_provider_runtime.core.registry.sql import open_registry

    open_registry(f"sqlite:///{tmp_path}/a/b/registry.db").close()
    assert (tmp_path / "a" / "b" / "registry.db").exists()

"""One path for every run, from command line and Airflow alike: begin an attempt, keep it alive, finish or fail it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
from airflow_provider_runtime.core.registry.leases import describe_holder
from airflow_provider_runtime.core.registry.ports import (
    LEASE_SECONDS,
    Attempt,
    Registration,
    Registry,
    RunStart,
    SliceWrite,
)
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.problems import shorten
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.contract.snapshot import Snapshot

_SLICE_NAME = re.compile(r"[A-Za-z0-9_-]+")
REPORT_OPERATION_KEYS = ("seq", "type", "name", "rows_affected", "rows_after")


def begin_attempt(
    registry: Registry,
    snapshot: Snapshot,
    *,
    snapshot_uri: str | None = None,
    allow_closed: bool = False,
    invocation: str | None = None,
    durable: bool = False,
    resume_token: int | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> Attempt:
    """Take the lease of the snapshot's project and period; the attempt's token fences every older one."""
    project, settings = snapshot.project, snapshot.plan.settings
    start = RunStart(
        snapshot_sha256=snapshot.sha256,
        run_id=snapshot.run_id,
        project_id=project.id,
        project_name=project.name,
        project_version=project.version,
        calendar=settings.calendar,
        period=snapshot.period.identifier,
        level=snapshot.period.level,
        snapshot_uri=snapshot_uri,
        definitions=settings.definitions,
        invocation=invocation,
        allow_closed=allow_closed or settings.allow_closed,
        file_status=settings.file_status,
        lies_in=settings.lies_in,
    )
    holder = describe_holder(durable=durable)
    return registry.begin_attempt(start, holder=holder, lease_seconds=lease_seconds, resume_token=resume_token)


def check_attempt(registry: Registry, attempt: Attempt) -> None:
    """Raise when the attempt may no longer publish; to be asked right before a publish."""
    registry.heartbeat(attempt)


@contextmanager
def keep_alive(
    registry: Registry,
    attempt: Attempt,
    on_lost: Callable[[RuntimeProviderError], None],
    *,
    interval_seconds: float | None = None,
) -> Iterator[None]:
    """Lengthen the lease from a thread; `on_lost` is called once when the attempt may no longer publish."""
    over = threading.Event()
    # Often, so that a period that is locked meanwhile stops its jobs soon.
    pause_seconds = interval_seconds or attempt.lease_seconds / 18

    def beat() -> None:
        while not over.wait(pause_seconds):
            try:
                registry.heartbeat(attempt)
            except RuntimeProviderError as error:
                # A registry that is away for a while is no reason to give up: the fence and the finish will tell.
                if not error.retryable and not over.is_set():
                    on_lost(error)
                    return

    thread = threading.Thread(target=beat, name="runtime-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


def finish_attempt(
    registry: Registry, attempt: Attempt, snapshot: Snapshot, report: Report
) -> tuple[Registration, ...]:
    """Register what the job has written; the report must be one of this snapshot and this attempt."""
    _check_report(attempt, report)
    return registry.finish_attempt(attempt, list_slice_writes(snapshot, report), report.to_dict())


def fail_attempt(
    registry: Registry, attempt: Attempt, error: ErrorReport | BaseException, report: Report | None = None
) -> bool:
    """Record why the attempt failed and give its lease back; False when it was no longer the current one."""
    told = error if isinstance(error, ErrorReport) else describe_error(error)
    return registry.fail_attempt(attempt, asdict(told), None if report is None else report.to_dict())


def read_report(content: bytes) -> Report:
    """Return the report in a file that a job has written; SNAPSHOT_001 when it is not one."""
    try:
        return read_document(Report, json.loads(content))
    except (ValueError, RecursionError) as error:
        message = f"the report is not one of this package's job: {shorten(str(error))}"
        raise SnapshotError(Problem("SNAPSHOT_001", message)) from None


def list_slice_writes(snapshot: Snapshot, report: Report) -> list[SliceWrite]:
    """Return the slices that a report tells of, with the schema that the snapshot planned for them."""
    planned = {output.seq: output.slice for output in snapshot.plan.outputs}
    period, writes = snapshot.period.identifier, []
    for output in report.outputs:
        if output.slice is None:
            continue
        target, registers = planned.get(output.seq), snapshot.plan.settings.registers.get(str(output.seq))
        if target is None or registers is None:
            message = f"the report tells of a slice of output {output.seq}, the snapshot does not"
            raise SnapshotError(Problem("SNAPSHOT_001", message))
        _check_slice_address(output.slice.uri, f"{target.uri_prefix.rstrip('/')}/{period}/")
        writes.append(
            SliceWrite(
                output_seq=output.seq,
                dataset_id=target.dataset_id,
                dataset_name=target.dataset_name,
                period=period,
                uri=output.slice.uri,
                rows=output.slice.rows,
                definition=registers.definition,
                content=output.slice.content,
            )
        )
    return writes


def public_report(report: Report, registrations: Sequence[Registration]) -> dict[str, Any]:
    """Return the report as `run --report` writes it."""
    versions = {registration.output_seq: registration.version for registration in registrations}
    return {
        "run_id": report.run_id,
        "status": report.status,
        "period": report.period,
        "operations": [
            {key: getattr(operation, key) for key in REPORT_OPERATION_KEYS} for operation in report.operations
        ],
        "outputs": [
            {
                "seq": output.seq,
                "destination": output.destination,
                "rows": output.rows,
                "columns": list(output.columns),
                "registered_dataset": output.registered_dataset,
                "registered_version": versions.get(output.seq),
            }
            for output in report.outputs
        ],
        "timings": dict(report.timings),
        "error": None if report.error is None else asdict(report.error),
    }


def _check_report(attempt: Attempt, report: Report) -> None:
    if not report.is_of(attempt.snapshot_sha256, attempt.token):
        raise SnapshotError(
            Problem(
                "SNAPSHOT_001",
                f"the report is of snapshot {report.snapshot_sha256[:12]} attempt {report.attempt}, not of snapshot"
                f" {attempt.snapshot_sha256[:12]} attempt {attempt.token}",
            )
        )
    if not report.succeeded:
        raise SnapshotError(Problem("SNAPSHOT_001", "the report does not tell of a success"))


def _check_slice_address(uri: str, folder: str) -> None:
    """Refuse a slice that is not directly in its period's folder: other projects read what is registered."""
    if not uri.startswith(folder) or not _SLICE_NAME.fullmatch(uri.removeprefix(folder)):
        shown = hide_control_characters(uri[:200])
        message = f"the report tells of a slice at {shown}, which is not directly below {folder}"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "see who can write reports; nothing was registered"))


def describe_error(error: BaseException) -> ErrorReport:
    """Return an exception as reports tell it."""
    if isinstance(error, RuntimeProviderError):
        return ErrorReport.from_problem(error.problems[0])
    # The text of a foreign exception may hold anything, a secret too: its kind must do.
    return ErrorReport("INFRA_001", f"the run ended with {type(error).__name__}")

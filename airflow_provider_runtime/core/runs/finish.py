"""Finish: register what a job has published, or record why it failed."""

from __future__ import annotations

from dataclasses import asdict

from airflow_provider_runtime.core.errors import Problem, SnapshotError
from airflow_provider_runtime.core.registry.ports import Attempt, Registration, Registry, RunRecord
from airflow_provider_runtime.core.runs.report import check_report, describe_error
from airflow_provider_runtime.core.runs.slices import list_slice_writes
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.contract.snapshot import Snapshot


def finish_attempt(
    registry: Registry, attempt: Attempt, snapshot: Snapshot, report: Report
) -> tuple[Registration, ...]:
    """Register what the job has written; the report must be one of this snapshot and this attempt."""
    check_report(report, attempt)
    if not report.succeeded:
        raise SnapshotError(Problem("SNAPSHOT_001", "the report is not of a run that succeeded"))
    return registry.finish_attempt(attempt, list_slice_writes(snapshot, report), report.to_dict())


def stage_attempt(registry: Registry, attempt: Attempt, report: Report, keep_seconds: float) -> RunRecord:
    """Record what the job has staged; the report must be one of this snapshot and this attempt."""
    check_report(report, attempt)
    return registry.stage_attempt(attempt, report.to_dict(), keep_seconds=keep_seconds)


def fail_attempt(
    registry: Registry, attempt: Attempt, error: ErrorReport | BaseException, report: Report | None = None
) -> bool:
    """Record why the attempt failed and give its lease back; False when it was no longer the current one."""
    reported = error if isinstance(error, ErrorReport) else describe_error(error)
    return registry.fail_attempt(attempt, asdict(reported), None if report is None else report.to_dict())

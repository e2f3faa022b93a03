"""The job's report: whether it is the one expected, what it says of a failure, what users see of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, SnapshotError, get_error_class
from airflow_provider_runtime.core.registry.ports import Attempt, Registration
from spark_jobs.contract.checks import show_result
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.problems import shorten
from spark_jobs.contract.report import ErrorReport, Report

OPERATION_KEYS = ("seq", "type", "name", "rows_affected", "rows_after", "seconds", "computed_with")


def read_report(content: bytes) -> Report:
    """Return the report in a file that a job has written; SNAPSHOT_001 when it is not one."""
    try:
        return read_document(Report, json.loads(content))
    except (ValueError, RecursionError) as error:
        message = f"the report is not one of this package's job: {shorten(str(error))}"
        raise SnapshotError(Problem("SNAPSHOT_001", message)) from None


def check_report(report: Report, attempt: Attempt) -> None:
    """Raise SNAPSHOT_001 unless the report is one of this attempt's snapshot and reports no failure."""
    if not report.is_of(attempt.snapshot_sha256, attempt.token):
        raise SnapshotError(
            Problem(
                "SNAPSHOT_001",
                f"the report is of snapshot {report.snapshot_sha256[:12]} attempt {report.attempt}, not of snapshot"
                f" {attempt.snapshot_sha256[:12]} attempt {attempt.token}",
            )
        )
    if report.failed:
        raise SnapshotError(Problem("SNAPSHOT_001", "the report is not of a run that succeeded"))


def make_job_error(report: Report, project: str | None = None) -> RuntimeProviderError:
    """Return the error in a report, with all its problems and their places in the YAML."""
    problems = [error.to_problem(project) for error in report.errors or (report.error or ErrorReport(),)]
    return get_error_class(problems[0].code)(problems)


def describe_error(error: BaseException) -> ErrorReport:
    """Return an exception as a report describes it."""
    if isinstance(error, RuntimeProviderError):
        return ErrorReport.from_problem(error.problems[0])
    # The text of a foreign exception may hold anything, a secret too: its kind must do.
    return ErrorReport("INFRA_001", f"the run ended with {type(error).__name__}")


def public_report(report: Report, registrations: Sequence[Registration]) -> dict[str, Any]:
    """Return the report as `run --report` writes it."""
    versions = {registration.output_seq: registration.version for registration in registrations}
    return {
        "run_id": report.run_id,
        "status": report.status,
        "period": report.period,
        "operations": [
            {
                **{key: getattr(operation, key) for key in OPERATION_KEYS},
                **({"joins": [asdict(join) for join in operation.joins]} if operation.joins else {}),
            }
            for operation in report.operations
        ],
        "outputs": [
            {
                "seq": output.seq,
                "destination": output.destination,
                "rows": output.rows,
                "columns": list(output.columns),
                "registered_dataset": output.registered_dataset,
                "registered_version": versions.get(output.seq),
                **({"table_version": output.table.version} if output.table is not None else {}),
            }
            for output in report.outputs
        ],
        "checks": [show_result(result) for result in report.checks],
        "sources": [asdict(source) for source in report.sources],
        "differences": list(report.differences),
        **({} if report.comparison is None else {"comparison": asdict(report.comparison)}),
        "timings": dict(report.timings),
        "error": None if report.error is None else asdict(report.error),
    }

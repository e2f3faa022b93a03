"""The job's report as one JSON document: written whole or not at all, and always written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_jobs.contract.documents import read_document
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES
from spark_jobs.errors import JobError
from spark_jobs.redaction import redact
from spark_jobs.spark.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.errors import MarkedProblem


def make_error_reports(error: JobError, snapshot: Snapshot | None) -> tuple[ErrorReport, ...]:
    """Return an error's problems, each with the place in the YAML that its mark stands for."""
    return tuple(_make_error_report(problem, snapshot) for problem in error.problems)


def write_report(report: Report, uri: str, spark: SparkSession | None = None) -> None:
    """Write a report that appears whole or not at all."""
    content = json.dumps(report.to_dict(), ensure_ascii=False, indent=1).encode()
    open_storage(uri, spark).write_bytes(uri, content)


def read_report(uri: str, spark: SparkSession | None = None) -> Report:
    """Return the report of an earlier execution."""
    try:
        return read_document(Report, json.loads(open_storage(uri, spark).read_bytes(uri, MAX_SNAPSHOT_BYTES)))
    except (OSError, ValueError) as failure:
        message = f"the earlier report {uri} cannot be read: {failure}"
        raise JobError("INFRA_001", message, hint="check the address; the file may have been removed") from failure


def _make_error_report(problem: MarkedProblem, snapshot: Snapshot | None) -> ErrorReport:
    mark = snapshot.plan.marks.get(problem.mark) if snapshot is not None and problem.mark is not None else None
    project = snapshot.project.name if snapshot is not None else None
    message, hint = redact(problem.message), None if problem.hint is None else redact(problem.hint)
    if mark is None:
        return ErrorReport(problem.code, message, hint, project=project)
    place = (mark.file, mark.line, mark.column, project, mark.operation_seq, mark.field)
    return ErrorReport(problem.code, message, hint, *place)

"""The report: what a job tells those who started it, as one JSON document.

It holds counts and names, never rows and never a secret; it is written whole or not at all, and always written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from spark_jobs.contract.codes import Code
from spark_jobs.redaction import redact
from spark_jobs.spark.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.errors import JobError, MarkedProblem
    from spark_jobs.snapshot import Snapshot

REPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class OperationReport:
    """What an operation did."""

    seq: int
    type: str
    name: str
    rows_affected: int | None
    rows_after: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class SliceReport:
    """Where the files of a registered dataset's slice are."""

    uri: str
    rows: int
    content: str | None = None
    """Digest of its files without footers, the same for rows written the same way; None where nobody can tell."""


@dataclass(frozen=True, slots=True)
class OutputReport:
    """What an output published."""

    seq: int
    destination: str
    rows: int
    columns: tuple[str, ...]
    registered_dataset: str | None = None
    slice: SliceReport | None = None


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What stopped the job, and the place in the YAML."""

    code: Code
    message: str
    hint: str | None = None
    file: str | None = None
    line: int = 1
    column: int = 1
    project: str | None = None
    operation_seq: int | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one attempt."""

    snapshot_sha256: str
    attempt: int
    status: str
    run_id: str | None = None
    period: str | None = None
    operations: tuple[OperationReport, ...] = ()
    outputs: tuple[OutputReport, ...] = ()
    rows_in: int | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    error: ErrorReport | None = None
    errors: tuple[ErrorReport, ...] = ()
    """All problems, `error` being the first of them."""
    cut_short: bool = False
    """Whether it failed while outputs were swapped in: some may be published, and the retry completes them."""
    exit_code: int = 0
    report_version: int = REPORT_VERSION

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON's own kinds of values, without any secret."""
        # Only texts from outside can hold a secret; a count, a key or a digest that looks like one must stay.
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for error in (document["error"], *document["errors"]):
            if error is not None:
                error.update({name: redact(error[name]) for name in ("message", "hint") if error[name] is not None})
        return document


def make_error_reports(error: JobError, snapshot: Snapshot | None) -> tuple[ErrorReport, ...]:
    """Return an error's problems, each with the place in the YAML that its mark stands for."""
    return tuple(_make_error_report(problem, snapshot) for problem in error.problems)


def write_report(report: Report, uri: str, spark: SparkSession | None = None) -> None:
    """Write a report that appears whole or not at all."""
    content = json.dumps(report.to_dict(), ensure_ascii=False, indent=1).encode()
    open_storage(uri, spark).write_bytes(uri, content)


def _make_error_report(problem: MarkedProblem, snapshot: Snapshot | None) -> ErrorReport:
    mark = snapshot.plan.marks.get(problem.mark) if snapshot is not None and problem.mark is not None else None
    project = snapshot.project.name if snapshot is not None else None
    if mark is None:
        return ErrorReport(problem.code, problem.message, problem.hint, project=project)
    place = (mark.file, mark.line, mark.column, project, mark.operation_seq, mark.field)
    return ErrorReport(problem.code, problem.message, problem.hint, *place)

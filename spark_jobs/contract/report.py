"""The report: what a job returns to its submitter. It holds counts and names, never rows and never a secret."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from spark_jobs.contract.checks import CheckResult
from spark_jobs.contract.codes import Code
from spark_jobs.contract.comparison import Comparison
from spark_jobs.contract.documents import Between, Matching
from spark_jobs.contract.problems import Place, Problem

REPORT_VERSION = 1
STEPS = {
    "load_seconds": "opening the sources",
    "unread_seconds": "computing what no output reads",
    "check_seconds": "checks",
    "publish_seconds": "publishing",
}
"""What people read of the timings that belong to no operation."""
RowCount = Annotated[int, Between(0, 2**63 - 1)]


def name_step(seq: int, name: str) -> str:
    """Return how an operation is called where its time is shown, on Spark's own pages too."""
    return f"operation {seq} {name}"


@dataclass(frozen=True, slots=True)
class JoinReport:
    """How many of an update's touched rows a join found a match for."""

    alias: str
    matched: RowCount | None = None
    unmatched: RowCount | None = None


@dataclass(frozen=True, slots=True)
class OperationReport:
    """What an operation did."""

    seq: int
    type: str = ""
    name: str = ""
    rows_affected: RowCount | None = None
    rows_after: RowCount | None = None
    seconds: float = 0.0
    """Time of its own actions. Values are computed where they are first read."""
    computed_with: int | None = None
    """Seq of the operation whose action computed it first; None: no output reads it, it was computed after all."""
    joins: tuple[JoinReport, ...] = ()


@dataclass(frozen=True, slots=True)
class SliceReport:
    """Where the files of a registered dataset's slice are."""

    uri: str
    rows: RowCount
    content: Annotated[str, Matching("[0-9a-f]{64}")] | None = None
    """Digest of its files without footers, the same for rows written the same way; None where that is unknown."""


@dataclass(frozen=True, slots=True)
class StagedReport:
    """Where an output's rows wait for a decision."""

    nonce: Annotated[str, Matching("[0-9a-zA-Z]{1,40}")]
    """Part of the names of what the attempt has staged."""
    uri: str | None = None
    """Folder of the staged files; None for a database."""
    format: str | None = None
    table: str | None = None
    """Name of the stage table of a database."""
    files: Mapping[str, RowCount] = field(default_factory=dict)
    """Names and sizes of the staged files."""


UNCOMMITTED = "_uncommitted"
"""Stands beside files of an output that no table refers to."""


@dataclass(frozen=True, slots=True)
class TableReport:
    """Files that a job has written for a table, which the submitting process commits."""

    folder: str
    """Folder of the attempt, below the destination."""
    files: tuple[str, ...]
    """Their paths below the folder."""
    periods: tuple[str, ...] = ()
    """Periods whose rows they replace; none: the whole table."""
    content: Annotated[str, Matching("[0-9a-f]{64}")] | None = None
    """Digest of the files without footers; None where that is unknown."""
    version: str | None = None
    """Snapshot id or version of the commit, once it is there."""
    base: str | None = None
    """Of rows that wait for a decision: the version at which the table stood when the attempt began."""
    table_id: str | None = None
    """The id of the table that had it."""
    has_base: bool = False


@dataclass(frozen=True, slots=True)
class OutputReport:
    """What an output published, or has staged."""

    seq: int
    destination: str
    rows: RowCount
    columns: tuple[str, ...]
    registered_dataset: str | None = None
    slice: SliceReport | None = None
    staged: StagedReport | None = None
    table: TableReport | None = None


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was read of a table: how many files, and what identifies them; None where that is unknown."""

    table: str
    dataset_id: str
    version: int
    files: int | None = None
    bytes: int | None = None
    fingerprint: str | None = None

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"table '{self.table}' of dataset '{self.dataset_id}'"


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What stopped a run, and the place in the YAML."""

    code: Code = "INFRA_001"
    message: str = "the job failed without saying why"
    hint: str | None = None
    file: str | None = None
    line: int = 1
    column: int = 1
    project: str | None = None
    operation_seq: int | None = None
    field: str | None = None

    @classmethod
    def from_problem(cls, problem: Problem) -> ErrorReport:
        """Return a problem as a report has it."""
        place = problem.location
        parts = (place.file, place.line, place.column, place.project, place.operation_seq, place.field)
        return cls(problem.code, problem.message, problem.hint, *parts)

    def to_problem(self, project: str | None = None) -> Problem:
        """Return it as a problem; of `project` where the report names none."""
        place = Place(
            file=self.file,
            line=self.line,
            column=self.column,
            project=self.project or project,
            operation_seq=self.operation_seq,
            field=self.field,
        )
        return Problem(self.code, self.message, self.hint, place)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one attempt."""

    snapshot_sha256: str
    attempt: int
    status: Literal["succeeded", "staged", "failed"]
    run_id: str | None = None
    period: str | None = None
    operations: tuple[OperationReport, ...] = ()
    outputs: tuple[OutputReport, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    rows_in: RowCount | None = None
    sources: tuple[SourceReport, ...] = ()
    differences: tuple[str, ...] = ()
    """In what the sources and the rows differ from those of an earlier execution of the same snapshot."""
    comparison: Comparison | None = None
    """What changes for readers, where that was asked for and something was published before."""
    timings: Mapping[str, float] = field(default_factory=dict)
    error: ErrorReport | None = None
    errors: tuple[ErrorReport, ...] = ()
    """All problems, `error` being the first of them."""
    cut_short: bool = False
    """Whether it failed while outputs were swapped in: some may be published, and the retry completes them."""
    newest_token: int | None = None
    """The token of the attempt that stands in the way of this one, when that has ended."""
    exit_code: int = 0
    report_version: int = REPORT_VERSION

    @property
    def succeeded(self) -> bool:
        """Whether everything was published."""
        return self.status == "succeeded"

    @property
    def failed(self) -> bool:
        """Whether the job has failed."""
        return self.status == "failed"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON's own kinds of values."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return document

    def is_of(self, snapshot_sha256: str, attempt: int) -> bool:
        """Return whether it is the report of this attempt at this snapshot."""
        digests = [digest.removeprefix("sha256:") for digest in (self.snapshot_sha256, snapshot_sha256)]
        return digests[0] == digests[1] and self.attempt == attempt


def list_source_differences(earlier: Iterable[SourceReport], now: Iterable[SourceReport]) -> tuple[str, ...]:
    """Return in what sources are not those that an earlier execution of the same snapshot has read."""
    known = {(found.dataset_id, found.version, found.table): found for found in earlier}
    differences = []
    for found in now:
        before = known.get((found.dataset_id, found.version, found.table))
        if before is None or None in (before.fingerprint, found.fingerprint):
            continue
        if before.fingerprint != found.fingerprint:
            message = f"{found.name} is read from {_count(found)}, which are not those of the earlier execution"
            differences.append(f"{message} ({_count(before)})")
    return tuple(differences)


def list_row_differences(earlier: Iterable[OutputReport], now: Iterable[OutputReport]) -> tuple[str, ...]:
    """Return in what outputs do not have the rows that an earlier execution of the same snapshot has published."""
    known = {found.seq: found for found in earlier}
    differences = []
    for found in now:
        before = known.get(found.seq)
        if before is None:
            continue
        contents = [output.slice.content if output.slice is not None else None for output in (before, found)]
        if before.rows != found.rows:
            differences.append(f"output {found.seq} has {found.rows} rows, {before.rows} in the earlier execution")
        elif None not in contents and contents[0] != contents[1]:
            differences.append(f"output {found.seq} has other files than in the earlier execution")
    return tuple(differences)


def _count(source: SourceReport) -> str:
    return f"{source.files} files of {source.bytes} bytes"

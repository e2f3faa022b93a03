"""Checks between planning and job: what is looked at, what it is compared with, and the result.

SQL names columns as in the rest of a plan: `` `@w` `` is the row at hand, of the output, of the input as it was loaded,
or of a dataset's table. Amounts, percentages and values are texts of plain digits, so that they stay exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from spark_jobs.contract.documents import Matching

CheckKind = Literal["rows", "unique", "value"]
OnFail = Literal["block", "warn"]
CheckStatus = Literal["passed", "failed", "warned", "recorded", "no_baseline", "overridden"]
Merge = Literal["sum", "min", "max"]
Digits = Annotated[str, Matching(r"-?[0-9]+(?:\.[0-9]+)?")]
MOST_GROUPS = 50
MOST_SAMPLES = 10
MOST_FAILING_ROWS = 1_000
MOST_RECORDED_GROUPS = 10_000
"""Groups of a check of `change`: all of them are kept for the run that is compared with this one."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An amount, or a percentage."""

    amount: Digits
    is_percent: bool = False


NOTHING = Limit("0")


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A column that a check groups by, with the type in which the groups of both sides are compared."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedValue:
    """An aggregate over rows of an output, of a dataset's table, or of the input when it names neither."""

    sql: str
    """Without groups it leaves out the rows that `where` does."""
    type: str
    shown: str
    """The expression as it was written."""
    where: str | None = None
    output: int | None = None
    table: str | None = None
    """Key into the plan's tables."""
    reads: tuple[str, ...] | None = None
    """The columns that it reads, those of `where` included; None in snapshots that do not say."""
    counts_rows: bool = False
    """Whether it is the number of all rows, which staging knows."""
    merge: Merge | None = None
    """How values over parts of the rows make the one over all; None where they do not."""

    @property
    def is_of_input(self) -> bool:
        """Whether it is over the input's rows."""
        return self.output is None and self.table is None


@dataclass(frozen=True, slots=True)
class RecordedGroup:
    """The value of a group, by the texts of its grouping columns."""

    key: tuple[str | None, ...]
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What an earlier publication recorded, pinned when the run was resolved."""

    run_id: str
    period: str
    value: str | None = None
    groups: tuple[RecordedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How far a value may be from an earlier one."""

    since: Literal["previous_period", "last_publication"]
    least: Limit | None = None
    most: Limit | None = None
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """The permission for a failing check, by somebody, for a reason."""

    check: str
    who: str
    at: str
    reason: str
    number: int = 1
    """Which of the permissions for this check and period it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A compiled check."""

    name: str
    kind: CheckKind
    output: int
    on_fail: OnFail
    mark: str
    where: str | None = None
    """Of `rows` and `unique`; that of a value is kept with the value."""
    at_most: Limit = NOTHING
    condition: str | None = None
    """Of `rows`."""
    shown: str = ""
    """The condition as it was written."""
    not_null: tuple[str, ...] = ()
    """Columns of which the condition asks no more than that they are not NULL."""
    unique: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """What `rows` and `unique` read: an example shows them first."""
    is_proven: bool = False
    """Whether the operations make sure of it, so that it need not be evaluated."""
    group_by: tuple[GroupKey, ...] = ()
    value: CheckedValue | None = None
    equals: CheckedValue | None = None
    constant: str | None = None
    tolerance: Limit = NOTHING
    between: tuple[str, ...] = ()
    change: Change | None = None

    @property
    def values(self) -> tuple[CheckedValue, ...]:
        """Both sides, as far as there are any."""
        return tuple(side for side in (self.value, self.equals) if side is not None)

    @property
    def is_compared(self) -> bool:
        """Whether its value is held to anything; else it is recorded."""
        return bool(self.constant is not None or self.equals or self.between or self.change)

    @property
    def outputs(self) -> frozenset[int]:
        """Seqs of the outputs whose rows it reads."""
        others = (side.output for side in self.values if side.output is not None)
        return frozenset((self.output, *others))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """A group's values."""

    key: dict[str, str | None]
    value: str | None = None
    expected: str | None = None
    difference: str | None = None
    status: CheckStatus = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of a check; values are texts, exact."""

    name: str
    output: int
    kind: CheckKind
    on_fail: OnFail
    status: CheckStatus
    rows: int | None = None
    """How many were looked at."""
    failing_rows: int | None = None
    value: str | None = None
    expected: str | None = None
    difference: str | None = None
    groups: tuple[GroupResult, ...] = ()
    sample: tuple[dict[str, str | None], ...] = ()
    failing_rows_uri: str | None = None
    message: str = ""
    override: Override | None = None
    """What let it pass, where it is overridden."""
    recorded: tuple[RecordedGroup, ...] = ()
    """All groups of a check of `change`, for the run that is compared with this one."""


def show_result(result: CheckResult) -> dict[str, Any]:
    """Return a result as users see it in reports."""
    shown = {name: value for name, value in asdict(result).items() if name != "recorded"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in shown.items()}


def describe_result(result: CheckResult) -> str:
    """Describe the result of a check in one line."""
    detail = result.message
    if not detail and result.value is not None:
        detail = result.value if result.expected is None else f"{result.value}, expected {result.expected}"
    elif not detail and result.failing_rows is not None:
        detail = f"{result.failing_rows} of {result.rows} rows fail"
    if result.override is not None:
        detail = f"{detail} (overridden by {result.override.who}: {result.override.reason})"
    return f"check '{result.name}' {result.status.replace('_', ' ')}" + (f": {detail}" if detail else "")


def describe_failure(result: CheckResult) -> str:
    """Describe a check that keeps a run from being published."""
    return f"Check '{result.name}' failed: {result.message}"


def count_statuses(results: Iterable[CheckResult]) -> dict[str, int]:
    """Return how many checks ended in each way."""
    counts: dict[str, int] = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    return counts

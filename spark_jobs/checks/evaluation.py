"""All checks of a run, evaluated on what is staged: after every operation, before anything is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from spark_jobs.checks.background import Background
from spark_jobs.checks.duplicates import count_duplicates, find_duplicates
from spark_jobs.checks.failing_rows import FailingRows
from spark_jobs.checks.group_comparison import GroupOutcome, compare_few, compare_many
from spark_jobs.checks.messages import describe_duplicates, describe_groups, describe_rows, describe_value
from spark_jobs.checks.rows_read import (
    Group,
    GroupTotals,
    Rows,
    Totals,
    count_failing,
    count_where,
    find_rows,
    flag_failing,
)
from spark_jobs.checks.values import (
    EXACT,
    Bounds,
    Value,
    is_equal,
    is_near,
    make_equal_bounds,
    merge_values,
    parse_value,
    read_value,
    spell_value,
    subtract,
    write_value,
)
from spark_jobs.contract.checks import (
    MOST_RECORDED_GROUPS,
    Change,
    Check,
    CheckedValue,
    CheckResult,
    CheckStatus,
    Limit,
    Merge,
    Override,
    RecordedGroup,
    describe_failure,
)
from spark_jobs.contract.sql import WORKING
from spark_jobs.errors import JobError, MarkedProblem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.checks.failing_rows import Sample
    from spark_jobs.sinks.protocol import StagedPart


class StagedRows(Protocol):
    """Where the rows of outputs are until they are published."""

    def read_staged(self, seq: int, part: StagedPart | None = None) -> DataFrame:
        """Return an output's rows as they were staged, with its columns, or a part of them."""

    def split_staged(self, seq: int) -> bool:
        """Make what is staged so far a part of its own, which can be read already; False where that cannot be."""

    def count_staged(self, seq: int) -> int:
        """Return how many rows an output has."""

    def count_nulls(self, seq: int, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return how many rows have NULL in these columns; None when that takes reading them."""


@dataclass(frozen=True, slots=True)
class CheckSources:
    """Where checks find what they look at."""

    staged: StagedRows
    open_table: Callable[[str], DataFrame]
    open_input: Callable[[], DataFrame]


def raise_failures(checks: Sequence[Check], results: Sequence[CheckResult]) -> None:
    """Raise CHECK_001 for each of the checks that keep a run from being published."""
    marks = {check.name: check.mark for check in checks}
    hint = "correct the data or the definitions and run again; a result that is right can be overridden with a reason"
    problems = [
        MarkedProblem("CHECK_001", describe_failure(result), hint, marks[result.name])
        for result in results
        if result.status == "failed"
    ]
    if problems:
        raise JobError.of(problems)


class Evaluation:
    """The checks of a run: what they need is read as soon as it is staged, and at the end every check is judged."""

    def __init__(
        self, checks: Sequence[Check], sources: CheckSources, failing: FailingRows, overrides: Sequence[Override] = ()
    ) -> None:
        self._checks = checks
        self._sources = sources
        self._failing = failing
        self._overrides = {override.check: override for override in overrides}
        self._background = Background(failing.spark)
        self._frames: dict[Rows, DataFrame] = {}
        self._totals = Totals(self._open)
        self._groups = GroupTotals(self._open)
        self._duplicates: dict[str, Future[tuple[int, int]]] = {}
        self._nulls: dict[str, Mapping[str, int] | None] = {}
        self._staged: set[int] = set()
        self._early: dict[int, int] = {}
        """By the seq of an output that is read in two parts, the number of rows of the first."""

    def _open(self, rows: Rows) -> DataFrame:
        if rows not in self._frames:
            if rows.output is not None:
                frame = self._sources.staged.read_staged(rows.output, rows.part)
            else:
                frame = self._sources.open_input() if rows.table is None else self._sources.open_table(rows.table)
            self._frames[rows] = frame
        return self._frames[rows]

    # Reading

    def begin_early(self, output: int) -> None:
        """Begin to read what is staged of an output so far, for totals to which those of the rest can be added."""
        wanted = [wanted for check in self._checks for wanted in _list_mergeable(check, output)]
        if wanted and output not in self._early and self._sources.staged.split_staged(output):
            self._early[output] = self._sources.staged.count_staged(output)
            for sql in wanted:
                self._totals.want(Rows(output, part="early"), sql)
            self._begin()

    def begin(self, output: int) -> None:
        """Begin to read what checks need of an output, all of which is staged."""
        self._staged.add(output)
        for check in self._checks:
            if check.output == output:
                self._ask_rows(check)
            for side in check.values:
                if side.output == output:
                    self._ask_value(side, check)
        self._begin()

    def _want(self, rows: Rows, sql: str, merge: Merge | None) -> None:
        if rows.output not in self._early or merge is None:
            self._totals.want(rows, sql)
        elif self._early[rows.output] < self._sources.staged.count_staged(rows.output):
            self._totals.want(replace(rows, part="rest"), sql)

    def _get(self, rows: Rows, sql: str, merge: Merge | None) -> Any:
        if rows.output not in self._early or merge is None:
            return self._totals.get(rows, sql)
        parts: tuple[StagedPart, ...] = ("early", "rest")
        known = [replace(rows, part=part) for part in parts]
        try:
            return merge_values(merge, [self._totals.get(part, sql) for part in known if self._totals.has(part, sql)])
        except Exception:  # noqa: BLE001 - a part may be too large for its type where the whole is not
            return self._totals.read(rows, sql)

    def wait(self) -> None:
        """Wait until what was begun is read, before files without rows are removed: what follows is opened anew."""
        self._background.wait()
        self._frames.clear()

    def finish(self, input_values: Mapping[str, Any]) -> tuple[CheckResult, ...]:
        """Read what is left and judge all checks.

        `input_values` are aggregates over the input that came with the pass that read it, by their SQL.
        """
        self._totals.known |= {(Rows(), sql): value for sql, value in input_values.items()}
        for output in sorted({seq for check in self._checks for seq in check.outputs} - self._staged):
            self.begin(output)
        for check in self._checks:
            for side in check.values:
                if side.output is None:
                    self._ask_value(side, check)
        self._begin()
        return tuple(self._judge(check, index) for index, check in enumerate(self._checks))

    def stop(self) -> None:
        """End what is still being read."""
        self._background.stop()

    def _begin(self) -> None:
        self._totals.begin(self._background)
        self._groups.begin(self._background)

    def _ask_rows(self, check: Check) -> None:
        if check.kind == "unique" and not check.is_proven:
            self._duplicates[check.name] = self._background.submit(partial(self._count_duplicates, check))
        where = _find_counted(check)
        if where is not None:
            self._want(Rows(check.output), count_where(where), "sum")
        if check.condition is not None and not check.is_proven and self._find_nulls(check) is None:
            sql = count_failing(check.condition, check.where)
            self._want(Rows(check.output), sql, None if _may_know_nulls(check) else "sum")

    def _ask_value(self, side: CheckedValue, check: Check) -> None:
        if check.group_by:
            self._groups.want(side, check.group_by)
        elif not _is_row_count(side):
            self._want(find_rows(side), spell_value(side.sql, side.type), side.merge)

    def _find_nulls(self, check: Check) -> int | None:
        """Return how many rows fail where files know it: how often one column is NULL, or that none of several is."""
        if not _may_know_nulls(check):
            return None
        if check.name not in self._nulls:
            self._nulls[check.name] = self._sources.staged.count_nulls(check.output, check.not_null)
        nulls = self._nulls[check.name]
        if nulls is None or (len(nulls) > 1 and any(nulls.values())):
            return None
        return sum(nulls.values())

    # Judging

    def _judge(self, check: Check, index: int) -> CheckResult:
        """Return the result of a check, with the override that lets it pass if it failed."""
        result = self._judge_kind(check, index)
        return replace(result, override=self._overrides[check.name]) if result.status == "overridden" else result

    def _judge_kind(self, check: Check, index: int) -> CheckResult:
        result = CheckResult(
            name=check.name, output=check.output, kind=check.kind, on_fail=check.on_fail, status="passed"
        )
        if check.kind == "rows":
            return self._judge_rows(check, result, index)
        if check.kind == "unique":
            return self._judge_unique(check, result, index)
        return self._judge_groups(check, result) if check.group_by else self._judge_value(check, result)

    def _settle(self, check: Check, *, failed: bool) -> CheckStatus:
        if not failed:
            return "passed"
        if check.on_fail == "warn":
            return "warned"
        return "overridden" if check.name in self._overrides else "failed"

    def _count(self, output: int, where: str | None) -> int:
        if where is None:
            return self._sources.staged.count_staged(output)
        return int(self._get(Rows(output), count_where(where), "sum"))

    def _judge_rows(self, check: Check, result: CheckResult, index: int) -> CheckResult:
        rows = self._count(check.output, check.where)
        failing = 0 if check.is_proven else self._count_failing(check)
        result = replace(result, rows=rows, failing_rows=failing)
        if not failing:
            return result
        assert check.condition is not None
        frame = self._open(Rows(check.output)).alias(WORKING)
        uri, sample = self._keep(index, frame.where(f"{flag_failing(check.condition, check.where)} IS NOT NULL"))
        return self._finish_rows(check, result, uri, sample, describe_rows(check, failing, rows, sample))

    def _count_failing(self, check: Check) -> int:
        nulls = self._find_nulls(check)
        if nulls is not None:
            return nulls
        assert check.condition is not None
        sql = count_failing(check.condition, check.where)
        return int(self._get(Rows(check.output), sql, None if _may_know_nulls(check) else "sum"))

    def _judge_unique(self, check: Check, result: CheckResult, index: int) -> CheckResult:
        if check.is_proven:
            return replace(result, rows=self._count(check.output, check.where), failing_rows=0)
        rows, failing = self._duplicates[check.name].result()
        result = replace(result, rows=rows, failing_rows=failing)
        if not failing:
            return result
        uri, sample = self._keep(index, find_duplicates(self._pick_rows(check), check.unique))
        return self._finish_rows(check, result, uri, sample, describe_duplicates(check, failing, rows, sample))

    def _count_duplicates(self, check: Check) -> tuple[int, int]:
        return count_duplicates(self._pick_rows(check), check.unique, self._sources.staged.count_staged(check.output))

    def _pick_rows(self, check: Check) -> DataFrame:
        frame = self._open(Rows(check.output))
        return frame if check.where is None else frame.alias(WORKING).where(check.where)

    def _keep(self, index: int, rows: DataFrame) -> tuple[str | None, Sample]:
        return self._failing.keep(f"check-{index + 1}", rows)

    def _finish_rows(
        self, check: Check, result: CheckResult, uri: str | None, sample: Sample, message: str
    ) -> CheckResult:
        failing, rows = result.failing_rows or 0, result.rows or 0
        status = self._settle(check, failed=not _are_few(failing, rows, check.at_most))
        shown = tuple(dict(row) for row in sample)
        return replace(result, status=status, sample=shown, failing_rows_uri=uri, message=message)

    def _get_value(self, side: CheckedValue) -> Value:
        if _is_row_count(side):
            assert side.output is not None
            return Decimal(self._sources.staged.count_staged(side.output))
        return read_value(self._get(find_rows(side), spell_value(side.sql, side.type), side.merge), side.type)

    def _judge_value(self, check: Check, result: CheckResult) -> CheckResult:
        assert check.value is not None
        value = self._get_value(check.value)
        result = replace(result, rows=self._count(check.output, check.value.where), value=write_value(value))
        if check.change is not None:
            return self._judge_change(check, check.change, result, value)
        if check.between:
            return self._finish_value(check, result, passed=_read_bounds(check).hold(value))
        if not check.is_compared:
            return replace(result, status="recorded")
        expected = parse_value(check.constant, check.value.type)
        if check.equals is not None:
            expected = self._get_value(check.equals)
        result = replace(result, expected=write_value(expected), difference=subtract(value, expected))
        return self._finish_value(check, result, passed=is_equal(value, expected, check.tolerance))

    def _judge_change(self, check: Check, change: Change, result: CheckResult, value: Value) -> CheckResult:
        assert check.value is not None
        if change.baseline is None or not _can_read(change.baseline.value, check.value.type):
            return replace(result, status="no_baseline", message="there is no earlier value to compare with")
        earlier = parse_value(change.baseline.value, check.value.type)
        result = replace(result, expected=write_value(earlier), difference=subtract(value, earlier))
        return self._finish_value(check, result, passed=is_near(value, earlier, change.least, change.most))

    def _finish_value(self, check: Check, result: CheckResult, *, passed: bool) -> CheckResult:
        status = self._settle(check, failed=not passed)
        return replace(result, status=status, message="" if passed else describe_value(check, result))

    # Groups

    def _judge_groups(self, check: Check, result: CheckResult) -> CheckResult:
        assert check.value is not None
        values = self._groups.find(check.value, check.group_by)
        if check.change is not None:
            return self._judge_group_changes(check, check.change, result, values)
        others = None if check.equals is None else self._groups.find(check.equals, check.group_by)
        expected = parse_value(check.constant, check.value.type)
        if values is None or (check.equals is not None and others is None):
            outcome = compare_many(check, self._groups, _find_bounds(check), expected)
            rows = outcome.rows
        else:
            outcome = compare_few(check, values, expected if others is None else others, _make_judge(check))
            rows = self._groups.count_rows(check.value, check.group_by)
        return self._finish_groups(check, replace(result, rows=rows), outcome)

    def _judge_group_changes(
        self, check: Check, change: Change, result: CheckResult, values: Mapping[Group, Value] | None
    ) -> CheckResult:
        assert check.value is not None
        if values is None:
            reason = f"more than {MOST_RECORDED_GROUPS} groups cannot be recorded for the next comparison"
            return replace(result, status=self._settle(check, failed=True), message=reason)
        recorded = tuple(
            RecordedGroup(tuple(map(write_value, key)), write_value(value)) for key, value in values.items()
        )
        result = replace(result, rows=self._groups.count_rows(check.value, check.group_by), recorded=recorded)
        before = _read_groups(check, change)
        if not before:
            outcome = compare_few(check, values, None, lambda _value, _other: True)
            groups = tuple(replace(group, status="no_baseline") for group in outcome.shown)
            message = "there are no earlier values to compare with"
            return replace(result, status="no_baseline", groups=groups, message=message)
        outcome = compare_few(check, values, before, _make_judge(check))
        return self._finish_groups(check, result, outcome)

    def _finish_groups(self, check: Check, result: CheckResult, outcome: GroupOutcome) -> CheckResult:
        is_compared = check.is_compared
        status = self._settle(check, failed=outcome.failed > 0) if is_compared else "recorded"
        failed: CheckStatus = "failed" if status == "passed" else status
        groups = tuple(
            replace(group, status=failed if group.status == "failed" else "passed" if is_compared else "recorded")
            for group in outcome.shown
        )
        message = describe_groups(check, outcome.failed, outcome.total, groups) if outcome.failed else ""
        return replace(result, status=status, groups=groups, message=message)


def _find_counted(check: Check) -> str | None:
    """Return which of the output's rows have to be counted; None for all, which staging knows, and for none."""
    if check.kind == "value":
        return None if check.group_by or check.value is None else check.value.where
    return check.where if check.kind == "rows" or check.is_proven else None


def _is_row_count(side: CheckedValue) -> bool:
    return side.counts_rows and side.output is not None and side.where is None


def _may_know_nulls(check: Check) -> bool:
    """Tell whether files may know how many rows fail: those in which certain columns are NULL."""
    return check.where is None and bool(check.not_null)


def _list_mergeable(check: Check, output: int) -> Iterator[str]:
    """Yield the totals that a check needs of an output, of which parts can be added up."""
    where = _find_counted(check)
    if check.output == output and where is not None:
        yield count_where(where)
    if check.output == output and check.condition is not None and not (check.is_proven or _may_know_nulls(check)):
        yield count_failing(check.condition, check.where)
    for side in check.values:
        if side.output == output and side.merge is not None and not (check.group_by or _is_row_count(side)):
            yield spell_value(side.sql, side.type)


def _are_few(failing: int, rows: int, at_most: Limit) -> bool:
    amount = Decimal(at_most.amount)
    if not at_most.is_percent:
        return failing <= amount
    return EXACT.multiply(Decimal(failing), Decimal(100)) <= EXACT.multiply(amount, Decimal(rows))


def _read_bounds(check: Check) -> Bounds:
    assert check.value is not None
    least, most = (parse_value(end, check.value.type) for end in check.between)
    return Bounds(least, most)


def _find_bounds(check: Check) -> Bounds | None:
    """Return the constants between which every group must be; None when there are none."""
    assert check.value is not None
    if check.between:
        return _read_bounds(check)
    if check.constant is None:
        return None
    return make_equal_bounds(parse_value(check.constant, check.value.type), check.tolerance)


def _make_judge(check: Check) -> Callable[[Value, Value], bool]:
    """Return what decides whether the value of a group passes."""
    change = check.change
    if change is not None:
        return lambda value, earlier: is_near(value, earlier, change.least, change.most)
    if check.equals is not None:
        return lambda value, other: is_equal(value, other, check.tolerance)
    bounds = _find_bounds(check)
    return lambda value, _: True if bounds is None else bounds.hold(value)


def _read_groups(check: Check, change: Change) -> dict[Group, Value]:
    """Return the groups of an earlier publication; none where they were grouped by something else."""
    assert check.value is not None
    earlier = () if change.baseline is None else change.baseline.groups
    types = [key.type for key in check.group_by]
    found = {}
    for group in earlier:
        texts = [*zip(group.key, types, strict=False), (group.value, check.value.type)]
        if len(group.key) != len(types) or not all(_can_read(text, type_) for text, type_ in texts):
            return {}
        key = tuple(parse_value(text, type_) for text, type_ in texts[:-1])
        found[key] = parse_value(group.value, check.value.type)
    return found


def _can_read(text: str | None, type_: str) -> bool:
    """Return whether a recorded text is a value of a type: the check may have been another one then."""
    try:
        parse_value(text, type_)
    except (ValueError, InvalidOperation):
        return False
    return True

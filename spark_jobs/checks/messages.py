"""The message of a check: one sentence with the value, what was expected, the difference and an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spark_jobs.contract.checks import Check, CheckedValue, CheckResult, GroupResult, Limit
from spark_jobs.contract.problems import shorten
from spark_jobs.errors import JobError, MarkedProblem

LONGEST = 1_000
MOST_NAMED = 6
MOST_NAMED_GROUPS = 5
NULL = "NULL"


def name_check(error: JobError, checks: Sequence[Check]) -> JobError:
    """Return an error with the name of the check whose expression has failed."""

    def name(problem: MarkedProblem) -> MarkedProblem:
        owner = next((check for check in checks if (problem.mark or "").startswith(f"{check.mark}.")), None)
        return problem if owner is None else replace(problem, message=f"check '{owner.name}': {problem.message}")

    return JobError.of(map(name, error.problems))


def describe_rows(check: Check, failing: int, rows: int, sample: Sequence[Mapping[str, str | None]]) -> str:
    """Say how many rows fail a condition."""
    what = f"{_count(failing, rows)} {'does' if failing == 1 else 'do'} not satisfy {check.shown}"
    return _finish(what + _allow(check.at_most) + _show_example(check, sample))


def describe_duplicates(check: Check, failing: int, rows: int, sample: Sequence[Mapping[str, str | None]]) -> str:
    """Say how many rows share their key."""
    what = f"{_count(failing, rows)} share {', '.join(check.unique)} with another row"
    return _finish(what + _allow(check.at_most) + _show_example(check, sample))


def describe_value(check: Check, result: CheckResult) -> str:
    """Say what a value is, and what it should be."""
    return _finish(f"{_shown(check)} is {_say(check, result.value, result.expected, result.difference)}")


def describe_groups(check: Check, failed: int, total: int, groups: Sequence[GroupResult]) -> str:
    """Say how many groups fail, with the first few of them."""
    by = ", ".join(key.name for key in check.group_by)
    what = f"{failed} of {total} groups by {by} {'fails' if failed == 1 else 'fail'}"
    named = [_describe_group(check, group) for group in groups[: min(failed, MOST_NAMED_GROUPS)]]
    if named:
        what += (": " if len(named) == failed else f", the first {len(named)}: ") + "; ".join(named)
    return _finish(what)


def _describe_group(check: Check, group: GroupResult) -> str:
    key = ", ".join(f"{name} = {_null(value)}" for name, value in group.key.items())
    return f"{key}: {_shown(check)} is {_say(check, group.value, group.expected, group.difference)}"


def _say(check: Check, value: str | None, expected: str | None, difference: str | None) -> str:
    text = _null(value)
    if check.between:
        return f"{text}, expected from {check.between[0]} to {check.between[1]}"
    if check.change is not None:
        ends = [("from", check.change.least), ("to", check.change.most)]
        allowed = " ".join(f"{word} {_write_limit(end)}" for word, end in ends if end is not None)
        of = "before" if check.change.baseline is None else f"in {check.change.baseline.period}"
        return f"{text}, it was {_null(expected)} {of}, allowed is a change {allowed}" + _differ(difference)
    where = "" if check.equals is None else f" ({_place(check.equals)})"
    return f"{text}, expected {_null(expected)}{where}" + _differ(difference) + _tolerate(check.tolerance)


def _differ(difference: str | None) -> str:
    return "" if difference is None else f", difference {difference}"


def _tolerate(limit: Limit) -> str:
    return "" if limit.amount == "0" else f", tolerance {_write_limit(limit)}"


def _place(other: CheckedValue) -> str:
    if other.output is not None:
        return f"{other.shown} of output {other.output}"
    return f"{other.shown} of the dataset" if other.table is not None else f"{other.shown} of the input"


def _shown(check: Check) -> str:
    return check.value.shown if check.value is not None else check.shown


def _write_limit(limit: Limit) -> str:
    return f"{limit.amount}%" if limit.is_percent else limit.amount


def _allow(limit: Limit) -> str:
    return "" if limit.amount == "0" else f", at most {_write_limit(limit)} may"


def _count(failing: int, rows: int) -> str:
    return f"{failing} of {rows} {'row' if rows == 1 else 'rows'}"


def _null(value: str | None) -> str:
    return NULL if value is None else value


def _show_example(check: Check, sample: Sequence[Mapping[str, str | None]]) -> str:
    """Show the columns that the check reads, and before them those that identify the row."""
    if not sample:
        return ""
    row = sample[0]
    names = [*check.columns, *(name for name in row if name not in check.columns and not name.startswith("_"))]
    shown = [f"{name} = {_null(row[name])}" for name in names if name in row]
    return ", for example " + ", ".join(shown[:MOST_NAMED])


def _finish(text: str) -> str:
    return shorten(text, LONGEST)

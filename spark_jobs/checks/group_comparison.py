"""Groups of a check compared: by the driver when they are few, by Spark when they are many.

Spark has no numbers of more than 38 digits. What cannot be compared within them is handed to the driver row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

from spark_jobs.checks.rows_read import Group, GroupTotals, make_grouping, name_key, read_group
from spark_jobs.checks.values import (
    EXACT,
    NUMBERS,
    Bounds,
    Value,
    is_equal,
    read_value,
    spell_value,
    subtract,
    write_value,
)
from spark_jobs.contract.checks import MOST_GROUPS, Check, CheckedValue, GroupKey, GroupResult, Limit
from spark_jobs.contract.sql import quote_text
from spark_jobs.contract.tables import parse_decimal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WIDEST = 38
FAILED, UNSURE, PASSED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """The outcome of all groups; of those that are shown, the failed ones come first."""

    total: int
    failed: int
    shown: tuple[GroupResult, ...]
    rows: int | None = None


Judge = Callable[[Value, Value], bool]
"""Gets a value and what it is compared with, and says whether it passes."""


def compare_few(
    check: Check, values: Mapping[Group, Value], expected: Mapping[Group, Value] | Value, judge: Judge
) -> GroupOutcome:
    """Compare collected groups; a group that one side lacks is NULL there."""
    others = expected if isinstance(expected, Mapping) else None
    keys = sorted({*values, *(others or ())}, key=_sort_key)
    results = []
    for key in keys:
        value = values.get(key)
        other = expected if others is None else others.get(key)
        assert not isinstance(other, Mapping)
        results.append(make_group(check, key, value, other, passed=judge(value, other)))
    failed = [result for result in results if result.status == "failed"]
    shown = [*failed, *(result for result in results if result.status != "failed")]
    return GroupOutcome(len(results), len(failed), tuple(shown[:MOST_GROUPS]))


def make_group(check: Check, key: Group, value: Value, expected: Value, *, passed: bool) -> GroupResult:
    """Return the result of one group."""
    return GroupResult(
        key={column.name: write_value(part) for column, part in zip(check.group_by, key, strict=True)},
        value=write_value(value),
        expected=write_value(expected),
        difference=subtract(value, expected),
        status="passed" if passed else "failed",
    )


def _sort_key(key: Group) -> tuple[tuple[bool, Any], ...]:
    return tuple((part is not None, part) if part is not None else (False, 0) for part in key)


def compare_many(check: Check, totals: GroupTotals, bounds: Bounds | None, expected: Value) -> GroupOutcome:
    """Compare groups in Spark: with bounds, or with the groups of the other side."""
    assert check.value is not None
    frame = _build(totals, check.value, check.group_by)
    if check.equals is not None:
        pairs = _pair(check, frame, _build(totals, check.equals, check.group_by))
    else:
        state = str(PASSED) if bounds is None else _test_bounds(bounds, check.value.type)
        pairs = frame.selectExpr(*_list_keys(check), "`@v0` AS `@v`", f"{state} AS `@s`", "`@n`")
    kept = pairs.localCheckpoint()
    try:
        return _summarise(check, kept, expected)
    finally:
        kept.unpersist()


def _build(totals: GroupTotals, side: CheckedValue, keys: tuple[GroupKey, ...]) -> DataFrame:
    return totals.build(make_grouping(side, keys), [spell_value(side.sql, side.type)])


def _list_keys(check: Check) -> list[str]:
    return [f"`{name_key(index)}`" for index in range(len(check.group_by))]


def _pair(check: Check, left: DataFrame, right: DataFrame) -> DataFrame:
    assert check.value is not None
    assert check.equals is not None
    width = range(len(check.group_by))
    others = right.selectExpr(*(f"`{name_key(index)}` AS `@r{index}`" for index in width), "`@v0` AS `@e`")
    same = " AND ".join(f"`{name_key(index)}` <=> `@r{index}`" for index in width)
    joined = left.join(others, functions.expr(same), "full_outer")
    # Either side may be missing, and a key of either may be NULL: every group of the left side has a count.
    keys = [
        f"CASE WHEN `@n` IS NULL THEN `@r{index}` ELSE `{name_key(index)}` END AS `{name_key(index)}`"
        for index in width
    ]
    state = _test_equal("`@v0`", "`@e`", check.value.type, check.equals.type, check.tolerance)
    return joined.selectExpr(*keys, "`@v0` AS `@v`", "`@e`", f"{state} AS `@s`", "`@n`")


def _summarise(check: Check, pairs: DataFrame, expected: Value) -> GroupOutcome:
    keys = _list_keys(check)
    counts = [f"count_if(`@s` = {state})" for state in (FAILED, UNSURE)]
    found = pairs.selectExpr("count(1)", *counts, "sum(`@n`)").first()
    assert found is not None
    failed, shown = int(found[1]), []
    for row in pairs.where(f"`@s` = {FAILED}").orderBy(*keys).limit(MOST_GROUPS).collect():
        shown.append(_read_group(check, row, expected, passed=False))
    if found[2]:
        for result in _decide(check, pairs):
            failed += 1
            if len(shown) < MOST_GROUPS:
                shown.append(result)
    if len(shown) < MOST_GROUPS:
        rest = pairs.where(f"`@s` = {PASSED}").orderBy(*keys).limit(MOST_GROUPS - len(shown)).collect()
        shown += [_read_group(check, row, expected, passed=True) for row in rest]
    return GroupOutcome(int(found[0]), failed, tuple(shown), int(found[3] or 0))


def _decide(check: Check, pairs: DataFrame) -> Iterator[GroupResult]:
    """Yield the groups that failed among those that Spark could not compare."""
    for row in pairs.where(f"`@s` = {UNSURE}").toLocalIterator():
        value, expected = _read_values(check, row, None)
        if not is_equal(value, expected, check.tolerance):
            yield _read_group(check, row, None, passed=False)


def _read_group(check: Check, row: Any, expected: Value, *, passed: bool) -> GroupResult:
    return make_group(check, read_group(row, check.group_by), *_read_values(check, row, expected), passed=passed)


def _read_values(check: Check, row: Any, expected: Value) -> tuple[Value, Value]:
    assert check.value is not None
    other = expected if check.equals is None else read_value(row["@e"], check.equals.type)
    return read_value(row["@v"], check.value.type), other


# SQL


def _test_bounds(bounds: Bounds, type_: str) -> str:
    """Return SQL of the state of a value that must be between constants."""
    value = "`@v0`"
    conditions = []
    for sign, end, rounding in ((">=", bounds.least, ROUND_CEILING), ("<=", bounds.most, ROUND_FLOOR)):
        if end is not None:
            conditions.append(_compare_end(value, sign, end, type_, rounding))
    test = " AND ".join(conditions) or "TRUE"
    return f"CASE WHEN {value} IS NOT NULL AND {test} THEN {PASSED} ELSE {FAILED} END"


def _compare_end(value: str, sign: str, end: Value, type_: str, rounding: str) -> str:
    if not isinstance(end, Decimal):
        return f"{value} {sign} {_write_literal(end)}"
    scale = _read_scale(type_)
    # Between two numbers of a scale there is none: an end may be rounded to the scale of the values.
    exact = end.quantize(Decimal(1).scaleb(-scale), rounding, EXACT)
    if not _fits(exact):
        return "TRUE" if (exact > 0) == (sign == "<=") else "FALSE"
    kind = f"DECIMAL({WIDEST},{scale})"
    return f"CAST({value} AS {kind}) {sign} CAST('{exact:f}' AS {kind})"


def _write_literal(value: Value) -> str:
    text = write_value(value) or ""
    if isinstance(value, datetime):
        return f"unix_micros(TIMESTAMP'{text}')"
    return f"DATE'{text}'" if isinstance(value, date) else quote_text(text)


def _test_equal(left: str, right: str, left_type: str, right_type: str, tolerance: Limit) -> str:
    """Return SQL of the state of two values."""
    if left_type.startswith(NUMBERS):
        test = _test_numbers(left, right, max(_read_scale(left_type), _read_scale(right_type)), tolerance)
    elif left_type == "date" and Decimal(tolerance.amount):
        test = f"abs(datediff({left}, {right})) <= {min(int(Decimal(tolerance.amount)), 10_000_000)}"
    else:
        test = f"{left} = {right}"
    return (
        f"CASE WHEN {left} IS NULL AND {right} IS NULL THEN {PASSED}"
        f" WHEN {left} IS NULL OR {right} IS NULL THEN {FAILED}"
        f" WHEN {test} THEN {PASSED} WHEN NOT ({test}) THEN {FAILED} ELSE {UNSURE} END"
    )


def _test_numbers(left: str, right: str, scale: int, tolerance: Limit) -> str:
    """Return SQL that is NULL where 38 digits are not enough."""
    kind = f"DECIMAL({WIDEST},{scale})"
    first, second = f"try_cast({left} AS {kind})", f"try_cast({right} AS {kind})"
    amount = Decimal(tolerance.amount)
    if not amount:
        return f"{first} = {second}"
    distance = f"abs(try_subtract({first}, {second}))"
    if not tolerance.is_percent:
        exact = amount.quantize(Decimal(1).scaleb(-scale), ROUND_FLOOR, EXACT)
        return f"{distance} <= CAST('{exact:f}' AS {kind})" if _fits(exact) else "CAST(NULL AS BOOLEAN)"
    places = max(-int(amount.as_tuple().exponent), 0)
    times, part = Decimal(100).scaleb(places, EXACT), amount.scaleb(places, EXACT)
    if not (_fits(times) and _fits(part)):
        return "CAST(NULL AS BOOLEAN)"
    whole = f"DECIMAL({WIDEST},0)"
    return (
        f"try_multiply({distance}, CAST('{times:f}' AS {whole}))"
        f" <= try_multiply(abs({second}), CAST('{part:f}' AS {whole}))"
    )


def _fits(number: Decimal) -> bool:
    digits = f"{number:f}".lstrip("-").replace(".", "").lstrip("0")
    return len(digits) <= WIDEST and -int(number.as_tuple().exponent) <= WIDEST


def _read_scale(type_: str) -> int:
    _, scale = parse_decimal(type_) or (0, 0)
    return scale

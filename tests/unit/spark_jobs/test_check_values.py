"""Values of checks compared in exact decimals, on the driver."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.checks.messages import describe_groups
from spark_jobs.checks.values import (
    Bounds,
    Value,
    is_equal,
    is_near,
    make_equal_bounds,
    merge_values,
    parse_value,
    read_value,
    subtract,
    write_value,
)
from spark_jobs.contract.checks import Check, CheckedValue, GroupKey, GroupResult, Limit, Merge

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**38), max_value=10**38)
AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=0, max_value=10**12)
NONE = Limit("0")


@pytest.mark.parametrize(
    ("value", "expected", "tolerance", "equal"),
    [
        (Decimal("1.00"), Decimal("1"), NONE, True),
        (Decimal("1.00"), Decimal("1.01"), Limit("0.01"), True),
        (Decimal("1.00"), Decimal("1.0100000000000000000000000000000000000001"), Limit("0.01"), False),
        (Decimal("-99"), Decimal("-100"), Limit("1", is_percent=True), True),
        (Decimal("-98.99"), Decimal("-100"), Limit("1", is_percent=True), False),
        (Decimal(1), Decimal(0), Limit("50", is_percent=True), False),
        (None, None, NONE, True),
        (None, Decimal(0), Limit("5"), False),
        (Decimal(0), None, Limit("5"), False),
        (date(2026, 1, 31), date(2026, 2, 1), NONE, False),
        (date(2026, 1, 31), date(2026, 2, 1), Limit("1"), True),
        (date.max, date.max, Limit("10"), True),
        (datetime(2026, 1, 1, 0, 0, 0, 1), datetime(2026, 1, 1), NONE, False),
        ("a", "a", NONE, True),
        ("a", "A", NONE, False),
    ],
)
def test_values_are_equal_but_for_the_tolerance(value: Value, expected: Value, tolerance: Limit, equal: bool) -> None:
    assert is_equal(value, expected, tolerance) is equal


@given(NUMBERS, NUMBERS, AMOUNTS)
def test_tolerance_is_exact_at_any_size(value: Decimal, expected: Decimal, amount: Decimal) -> None:
    with localcontext(prec=500):
        near = abs(value - expected) <= amount
        within_percent = abs(value - expected) * 100 <= amount * abs(expected)
    assert is_equal(value, expected, Limit(f"{amount:f}")) is near
    assert is_equal(value, expected, Limit(f"{amount:f}", is_percent=True)) is within_percent


@given(NUMBERS, NUMBERS)
def test_difference_is_exact_and_written_as_plain_digits(value: Decimal, expected: Decimal) -> None:
    told = subtract(value, expected)
    assert told is not None
    with localcontext(prec=500):
        assert Decimal(told) == value - expected
    assert "E" not in told
    assert not told.startswith("-0.00000000000000000000")


@pytest.mark.parametrize(
    ("value", "least", "most", "holds"),
    [
        (Decimal(80), Limit("-20", is_percent=True), Limit("20", is_percent=True), True),
        (Decimal("79.99"), Limit("-20", is_percent=True), Limit("20", is_percent=True), False),
        (Decimal(120), Limit("-20", is_percent=True), None, True),
        (Decimal(121), None, Limit("20", is_percent=True), False),
        (Decimal(105), Limit("0"), Limit("5"), True),
        (Decimal("105.01"), Limit("0"), Limit("5"), False),
        (None, Limit("-100", is_percent=True), None, False),
    ],
)
def test_change_is_measured_from_the_earlier_value(
    value: Value, least: Limit | None, most: Limit | None, holds: bool
) -> None:
    assert is_near(value, Decimal(100), least, most) is holds


@pytest.mark.parametrize(("value", "holds"), [("-120.01", False), ("-120", True), ("-80", True), ("-79.99", False)])
def test_change_of_a_negative_value_is_a_percentage_of_its_amount(value: str, holds: bool) -> None:
    fifth = (Limit("-20", is_percent=True), Limit("20", is_percent=True))
    assert is_near(Decimal(value), Decimal(-100), *fifth) is holds


def test_only_null_is_near_null() -> None:
    assert is_near(None, None, Limit("0"), Limit("0"))
    assert not is_near(Decimal(0), None, Limit("-100"), Limit("100"))
    assert not is_near(None, Decimal(0), Limit("-100"), Limit("100"))


def test_failing_groups_are_reported_with_their_numbers() -> None:
    value = CheckedValue(sql="s", type="bigint", shown="SUM(a)", output=20)
    check = Check(
        name="c",
        kind="value",
        output=20,
        on_fail="block",
        mark="m",
        group_by=(GroupKey("unit", "string"),),
        value=value,
    )
    groups = [GroupResult(key={"unit": unit}, value="1", expected="2", difference="-1") for unit in "ABCDEFG"]
    two = describe_groups(check, 2, 7, groups)
    assert two == (
        "2 of 7 groups by unit fail: unit = A: SUM(a) is 1, expected 2, difference -1;"
        " unit = B: SUM(a) is 1, expected 2, difference -1"
    )
    assert "the first 5: unit = A:" in describe_groups(check, 7, 7, groups)
    assert "unit = F" not in describe_groups(check, 7, 7, groups)


def test_equality_without_tolerance_keeps_the_expected_value_as_it_is() -> None:
    assert make_equal_bounds("x", NONE) == Bounds("x", "x")


@pytest.mark.parametrize(
    ("found", "type_", "text"),
    [
        (5, "bigint", "5"),
        (Decimal("15000.00"), "decimal(18,2)", "15000.00"),
        (Decimal("-0.00"), "decimal(18,2)", "0.00"),
        (Decimal("1E-20"), "decimal(38,20)", "0.00000000000000000001"),
        (date(2026, 1, 31), "date", "2026-01-31"),
        (1_769_860_800_000_001, "timestamp", "2026-01-31T12:00:00.000001Z"),
        ("text", "string", "text"),
        (True, "boolean", "true"),
        (None, "bigint", None),
    ],
)
def test_values_are_written_exactly_and_read_again(found: object, type_: str, text: str | None) -> None:
    value = read_value(found, type_)
    assert write_value(value) == text
    assert parse_value(text, type_) == value


@pytest.mark.parametrize(
    ("merge", "parts", "whole"),
    [
        ("sum", [Decimal("0.10"), Decimal("-0.30")], Decimal("-0.20")),
        ("sum", [Decimal("9" * 38), Decimal("0.01")], Decimal("9" * 38 + ".01")),
        ("sum", [3, 4], 7),
        ("sum", [None, 4], 4),
        ("sum", [None, None], None),
        ("sum", [], None),
        ("min", [Decimal(2), Decimal(-1)], Decimal(-1)),
        ("max", ["a", None, "é"], "é"),
        ("max", [date(2026, 1, 1), date(2026, 1, 2)], date(2026, 1, 2)),
        ("min", [None], None),
    ],
)
def test_values_of_parts_make_the_value_of_all(merge: Merge, parts: list[object], whole: object) -> None:
    assert merge_values(merge, parts) == whole

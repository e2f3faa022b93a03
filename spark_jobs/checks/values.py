"""Values of checks compared exactly: numbers of any size, days, timestamps and texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from functools import reduce
from typing import Any

from spark_jobs.contract.checks import Limit, Merge

Value = Decimal | date | datetime | str | bool | None
EXACT = Context(prec=2_000)
"""More digits than a check's constants and two decimals of 38 digits can make."""
NUMBERS = ("bigint", "decimal")
_EPOCH = datetime(1970, 1, 1)


def spell_value(sql: str, type_: str) -> str:
    """Return SQL of a value as it is fetched: timestamps as numbers, which no time zone changes."""
    return f"unix_micros({sql})" if type_ == "timestamp" else sql


def read_value(found: Any, type_: str) -> Value:
    """Return what Spark has given for a value of a type."""
    if found is None:
        return None
    if type_ == "timestamp":
        return _EPOCH + timedelta(microseconds=found)
    value: Value = Decimal(found) if type_ == "bigint" else found
    return value


def parse_value(text: str | None, type_: str) -> Value:
    """Return the value that a text stands for, of a type as Spark spells it."""
    if text is None:
        return None
    if type_.startswith(NUMBERS):
        return Decimal(text)
    if type_ == "date":
        return date.fromisoformat(text)
    if type_ == "timestamp":
        return datetime.fromisoformat(text.removesuffix("Z"))
    return text == "true" if type_ == "boolean" else text


def write_value(value: Value) -> str | None:
    """Return a value as text, exact."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}" if value else f"{abs(value):f}"
    if isinstance(value, datetime):
        return value.isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value that pass; None: no bound."""

    least: Value = None
    most: Value = None

    def hold(self, value: Value) -> bool:
        """Return whether a value is between, ends included; NULL never does."""
        if value is None:
            return False
        return (self.least is None or self.least <= value) and (  # type: ignore[operator]
            self.most is None or value <= self.most  # type: ignore[operator]
        )


def move(value: Value, amount: Decimal) -> Value:
    """Return a number so much greater, or a day so many days later."""
    if isinstance(value, Decimal):
        return EXACT.add(value, amount)
    assert isinstance(value, date)
    day = value.toordinal() + int(amount)
    return date.fromordinal(min(max(day, date.min.toordinal()), date.max.toordinal()))


def measure(limit: Limit, value: Value) -> Decimal:
    """Return a limit as an amount; a percentage is one of the value without its sign."""
    amount = Decimal(limit.amount)
    if not limit.is_percent:
        return amount
    assert isinstance(value, Decimal)
    return EXACT.multiply(EXACT.multiply(amount, EXACT.abs(value)), Decimal("0.01"))


def make_equal_bounds(expected: Value, tolerance: Limit) -> Bounds:
    """Return the values that are equal to this one, which is not NULL, but for the tolerance."""
    if Decimal(tolerance.amount) == 0:
        return Bounds(expected, expected)
    reach = measure(tolerance, expected)
    return Bounds(move(expected, EXACT.minus(reach)), move(expected, reach))


def is_equal(value: Value, expected: Value, tolerance: Limit) -> bool:
    """Return whether two values are equal but for the tolerance; NULL equals NULL and nothing else."""
    if value is None or expected is None:
        return value is None and expected is None
    return make_equal_bounds(expected, tolerance).hold(value)


def is_near(value: Value, baseline: Value, least: Limit | None, most: Limit | None) -> bool:
    """Return whether a value is near enough to an earlier one; only NULL is near NULL."""
    if value is None or baseline is None:
        return value is None and baseline is None
    ends = [None if limit is None else move(baseline, measure(limit, baseline)) for limit in (least, most)]
    return Bounds(*ends).hold(value)


def merge_values(merge: Merge, values: Iterable[Any]) -> Any:
    """Return the value over all rows, made of those over parts, as Spark has given them; a part may have none."""
    found = [value for value in values if value is not None]
    if not found or merge != "sum":
        return None if not found else min(found) if merge == "min" else max(found)
    return reduce(EXACT.add, found) if isinstance(found[0], Decimal) else sum(found)


def subtract(value: Value, expected: Value) -> str | None:
    """Return how much greater a value is than expected, dates in days; None where that cannot be said."""
    if isinstance(value, Decimal) and isinstance(expected, Decimal):
        return write_value(EXACT.subtract(value, expected))
    if isinstance(value, datetime) or isinstance(expected, datetime):
        return None
    if isinstance(value, date) and isinstance(expected, date):
        return str((value - expected).days)
    return None

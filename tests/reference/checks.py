"""Random checks on the outputs of a random project, and what must come of them, computed on lists of dicts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from tests.reference.engine import Record

Condition = Callable[[Record], bool | None]
Total = Callable[[Sequence[Record]], Decimal | None]
ENOUGH = 400
"""Enough digits for every number that occurs here."""


@dataclass(frozen=True)
class Rows:
    """Rows that checks look at, with the numeric columns that all of them have."""

    yaml: dict[str, object]
    """How `equals` names them."""
    rows: Sequence[Record]
    numbers: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True)
class Expected:
    """What must come of a check."""

    name: str
    status: str
    value: Decimal | None = None
    failing_rows: int | None = None
    is_value: bool = False

    def to_yaml(self) -> dict[str, object]:
        found: dict[str, object] = {"name": self.name, "status": self.status}
        if self.is_value:
            found["value"] = None if self.value is None else format(self.value, "f")
        if self.failing_rows is not None:
            found["failing_rows"] = self.failing_rows
        return found


class CheckGenerator:
    """Draws checks of one output, compared with constants, the output itself, the input and another output."""

    def __init__(self, seed: int, outputs: dict[int, Rows], source: Rows) -> None:
        self.random = random.Random(seed)
        self.outputs = outputs
        self.source = source
        self.checks: list[dict[str, object]] = []
        self.expected: list[Expected] = []

    def generate(self, count: int) -> None:
        for number in range(count):
            seq = self.random.choice(list(self.outputs))
            rows = self.outputs[seq]
            make = self.random.choice([self._rows, self._unique, self._value, self._value, self._groups])
            check: dict[str, object] = {"name": f"check {number}", "output": seq}
            blocks = self.random.random() < 0.15
            if not blocks:
                check["on_fail"] = "warn"
            make(check, rows, "failed" if blocks else "warned")

    def _add(self, check: dict[str, object], expected: Expected) -> None:
        self.checks.append(check)
        self.expected.append(expected)

    def _where(self, rows: Rows, check: dict[str, object]) -> list[Record]:
        if not rows.numbers or self.random.random() < 0.6:
            return list(rows.rows)
        text, condition = self._condition(rows)
        check["where"] = text
        return [row for row in rows.rows if condition(row) is True]

    def _condition(self, rows: Rows) -> tuple[str, Condition]:
        column, limit = self.random.choice(rows.numbers), self.random.choice([0, 1, 100, -50])
        return self.random.choice(
            [
                (f"{column} > {limit}", lambda row: None if row[column] is None else _number(row[column]) > limit),
                (f"{column} IS NOT NULL", lambda row: row[column] is not None),
                (f"COALESCE({column}, 0) <= {limit}", lambda row: _number(row[column] or Decimal(0)) <= limit),
            ]
        )

    def _rows(self, check: dict[str, object], rows: Rows, failed: str) -> None:
        if not rows.numbers:
            return
        looked = self._where(rows, check)
        check["rows"], condition = self._condition(rows)
        self._limit(check, len(looked), sum(condition(row) is not True for row in looked), failed)

    def _unique(self, check: dict[str, object], rows: Rows, failed: str) -> None:
        known = [*rows.numbers, *rows.texts]
        columns = self.random.sample(known, min(len(known), self.random.randint(1, 2)))
        if not columns:
            return
        looked = self._where(rows, check)
        check["unique"] = columns
        keys = [tuple(row[column] for column in columns) for row in looked]
        self._limit(check, len(looked), sum(keys.count(key) > 1 for key in keys), failed)

    def _limit(self, check: dict[str, object], looked: int, failing: int, failed: str) -> None:
        limit = self.random.choice([None, 1, 3, "10%", "50%"])
        most = Decimal(0)
        if limit is not None:
            check["at_most"] = limit
            most = Decimal(limit[:-1]) * looked / 100 if isinstance(limit, str) else Decimal(limit)
        status = "passed" if failing <= most else failed
        self._add(check, Expected(str(check["name"]), status, failing_rows=failing))

    def _total(self, numbers: Sequence[str]) -> tuple[str, Total]:
        if not numbers or self.random.random() < 0.2:
            return "COUNT(*)", lambda rows: Decimal(len(rows))
        column = self.random.choice(numbers)
        return self.random.choice([
            (f"SUM({column})", lambda rows: _sum(rows, column)),
            (f"COUNT({column})", lambda rows: Decimal(sum(row[column] is not None for row in rows))),
            (f"MAX_AGG({column})", lambda rows: max(_list_numbers(rows, column), default=None)),
            (f"SUM({column}) - COUNT(*)", lambda rows: _minus(_sum(rows, column), Decimal(len(rows)))),
        ])  # fmt: skip

    def _other(self, check: dict[str, object], looked: list[Record], total: tuple[str, Total]) -> Decimal | None:
        """Choose what a value is compared with, often what it is equal to."""
        own = total[1](looked)
        if self.random.random() < 0.4:
            constant = self.random.choice([own, Decimal(0), None if own is None else own + Decimal("0.01")])
            if constant is not None:
                check["equals"] = format(constant, "f")
                return constant
        other = self.random.choice([self.source, *self.outputs.values()])
        named: dict[str, object] = dict(other.yaml)
        rows = self._where(other, named)
        text, function = self._total(other.numbers)
        named["input" if "input" in named else "value"] = text
        check["equals"] = named
        return function(rows)

    def _value(self, check: dict[str, object], rows: Rows, failed: str) -> None:
        looked = self._where(rows, check)
        total = self._total(rows.numbers)
        check["value"], value = total[0], total[1](looked)
        name, choice = str(check["name"]), self.random.random()
        if choice < 0.1:
            self._add(check, Expected(name, "recorded", value, is_value=True))
            return
        if choice < 0.3:
            least, most = self.random.choice([(Decimal(-100), Decimal(100)), (Decimal(0), Decimal("99999.99"))])
            check["between"] = [format(least, "f"), format(most, "f")]
            passed = value is not None and least <= value <= most
        else:
            expected = self._other(check, looked, total)
            passed = _are_equal(value, expected, self._tolerance(check))
        self._add(check, Expected(name, "passed" if passed else failed, value, is_value=True))

    def _tolerance(self, check: dict[str, object]) -> tuple[Decimal, bool]:
        tolerance = self.random.choice([None, None, Decimal("0.01"), Decimal(100), "1%", "50%"])
        if tolerance is None:
            return Decimal(0), False
        check["tolerance"] = tolerance if isinstance(tolerance, str) else format(tolerance, "f")
        return (Decimal(tolerance[:-1]), True) if isinstance(tolerance, str) else (tolerance, False)

    def _groups(self, check: dict[str, object], rows: Rows, failed: str) -> None:
        shared = [text for text in rows.texts if text in self.source.texts]
        if not shared:
            return
        column = self.random.choice(shared)
        looked = self._where(rows, check)
        text, function = self._total(rows.numbers)
        check |= {"group_by": [column], "value": text}
        name = str(check["name"])
        left = _group(looked, column, function)
        if self.random.random() < 0.3:
            constant = self.random.choice(
                [Decimal(0), Decimal(1), *(value for value in left.values() if value is not None)]
            )
            check["equals"] = format(constant, "f")
            tolerance = self._tolerance(check)
            passed = all(_are_equal(value, constant, tolerance) for value in left.values())
        else:
            named: dict[str, object] = {}
            others = self._where(self.source, named)
            named["input"], other = self._total(self.source.numbers)
            check["equals"] = named
            right = _group(others, column, other)
            tolerance = self._tolerance(check)
            passed = all(_are_equal(left.get(key), right.get(key), tolerance) for key in {*left, *right})
        self._add(check, Expected(name, "passed" if passed else failed))


def _group(rows: Sequence[Record], column: str, function: Total) -> dict[object, Decimal | None]:
    groups: dict[object, list[Record]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return {key: function(members) for key, members in groups.items()}


def _number(value: object) -> Decimal:
    assert isinstance(value, Decimal)
    return value


def _list_numbers(rows: Sequence[Record], column: str) -> list[Decimal]:
    return [_number(row[column]) for row in rows if row[column] is not None]


def _sum(rows: Sequence[Record], column: str) -> Decimal | None:
    values = _list_numbers(rows, column)
    with localcontext(prec=ENOUGH):
        return sum(values[1:], values[0]) if values else None


def _minus(first: Decimal | None, second: Decimal) -> Decimal | None:
    with localcontext(prec=ENOUGH):
        return None if first is None else first - second


def _are_equal(value: Decimal | None, expected: Decimal | None, tolerance: tuple[Decimal, bool]) -> bool:
    if value is None or expected is None:
        return value is None and expected is None
    amount, is_percent = tolerance
    with localcontext(prec=ENOUGH):
        return abs(value - expected) * 100 <= (amount * abs(expected) if is_percent else amount * 100)

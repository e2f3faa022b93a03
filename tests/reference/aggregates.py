"""Random aggregates, as text and as what they come to over a list of rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal

from tests.reference import expressions as x
from tests.reference.engine import Aggregations, Record

Aggregate = tuple[str, Callable[[list[Record]], object]]


def draw_aggregations(
    chance: random.Random, numbers: Sequence[str], others: Sequence[str], targets: Sequence[str]
) -> tuple[list[dict[str, str]], Aggregations]:
    """Draw aggregates of these columns into some of the targets."""
    written, functions = [], []
    for target in chance.sample(targets, chance.randint(1, min(3, len(targets)))):
        text, function = draw_aggregate(chance, chance.choice(numbers), chance.choice([*numbers, *others]), numbers[0])
        written.append({"column": target, "expression": text})
        functions.append((target, function))
    return written, functions


def draw_aggregate(chance: random.Random, number: str, any_column: str, first: str) -> Aggregate:
    limit = chance.randint(-20, 20)
    declared = number if number in SCALES else first
    return chance.choice(
        [
            (f"SUM({number})", lambda rows: fold(rows, number, add)),
            (f"COUNT({any_column})", lambda rows: Decimal(sum(row[any_column] is not None for row in rows))),
            ("COUNT(*)", lambda rows: Decimal(len(rows))),
            (f"MIN_AGG({number})", lambda rows: fold(rows, number, min)),
            (f"MAX_AGG({number})", lambda rows: fold(rows, number, max)),
            (f"SUM({number} * 2) - COUNT_ALL()", lambda rows: fold(rows, number, lambda v: 2 * add(v) - len(rows))),
            (f"AVG({declared})", lambda rows: fold(rows, declared, lambda v: average(v, declared))),
            (
                f"COUNT_DISTINCT({any_column})",
                lambda rows: Decimal(len({row[any_column] for row in rows} - {None})),
            ),
            (
                f"SUM_IF({number}, {first} > {limit})",
                lambda rows: fold([row for row in rows if exceeds(row[first], limit)], number, add),
            ),
            (
                f"COUNT_IF({first} > {limit} OR {any_column} IS NULL)",
                lambda rows: Decimal(sum(exceeds(row[first], limit) or row[any_column] is None for row in rows)),
            ),
        ]
    )


def exceeds(value: object, limit: int) -> bool:
    return isinstance(value, Decimal) and value > limit


def add(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0))


def average(values: Sequence[Decimal], column: str) -> object:
    return x.divide_exactly(add(values), Decimal(len(values)), SCALES[column])


SCALES = {"amount": 6, "qty": 6, "rate": 10, "target": 6}
"""Places of the mean of a declared column."""


def fold(rows: list[Record], column: str, function: Callable[[list[Decimal]], object]) -> object:
    values = [value for row in rows if isinstance(value := row[column], Decimal)]
    return function(values) if values else None

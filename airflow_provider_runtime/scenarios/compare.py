"""Compares the rows of an output with the expected ones, and says column by column what differs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from airflow_provider_runtime.scenarios.values import Value, show_value

Row = Mapping[str, Value]
SIMILARITY_LIMIT = 500
"""Beyond this many rows on a side, rows are listed as missing and extra without looking for near ones."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference between expected and actual rows."""

    kind: Literal["missing", "extra", "different", "columns", "row_count", "snapshot", "check", "error"]
    message: str
    operation: int | None = None
    expected: dict[str, str | None] = field(default_factory=dict)
    actual: dict[str, str | None] = field(default_factory=dict)


def compare_rows(
    expected: Sequence[Row], actual: Sequence[Row], *, match: Literal["exact", "subset"], operation: int
) -> list[Mismatch]:
    """Compare two multisets of rows by the columns that each expected row names."""
    missing, extra = _match(expected, actual)
    if match == "subset":
        extra_rows: list[Row] = []
        near = extra
    else:
        extra_rows = near = extra
    mismatches = []
    used: set[int] = set()
    for row in missing:
        index = _find_nearest(row, near, used)
        if index is None:
            mismatches.append(Mismatch("missing", f"missing row {_show(row, row)}", operation, _texts(row, row)))
            continue
        used.add(index)
        mismatches.append(_describe_difference(row, near[index], operation))
    named = _named_columns(expected)
    for index, row in enumerate(extra_rows):
        if index not in used:
            mismatches.append(
                Mismatch("extra", f"extra row {_show(row, named or row)}", operation, {}, _texts(row, named or row))
            )
    return mismatches


def _match(expected: Sequence[Row], actual: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Pair equal rows off; return the expected rows without a partner, and the actual ones.

    Rows that name more columns choose first, since fewer rows can be theirs.
    """
    indexes: dict[tuple[str, ...], dict[tuple[Value, ...], list[int]]] = {}
    taken: set[int] = set()
    missing = []
    for row in sorted(expected, key=len, reverse=True):
        columns = tuple(sorted(row))
        if columns not in indexes:
            index = indexes[columns] = defaultdict(list)
            for position in reversed(range(len(actual))):
                index[_key(actual[position], columns)].append(position)
        candidates = indexes[columns].get(_key(row, columns), [])
        while candidates and candidates[-1] in taken:
            candidates.pop()
        if candidates:
            taken.add(candidates.pop())
        else:
            missing.append(row)
    return missing, [row for position, row in enumerate(actual) if position not in taken]


def _key(row: Row, columns: Sequence[str]) -> tuple[Value, ...]:
    # True == 1 in Python; the type is part of the key so that a boolean never equals a number.
    return tuple((type(row.get(column)).__name__, row.get(column)) for column in columns)  # type: ignore[misc]


def _find_nearest(row: Row, others: Sequence[Row], used: set[int]) -> int | None:
    """Return the unused row that agrees in most columns, when it agrees in at least one."""
    if len(others) > SIMILARITY_LIMIT:
        return None
    best, best_score = None, 0
    for index, other in enumerate(others):
        score = sum(1 for column, value in row.items() if value is not None and other.get(column) == value)
        if index not in used and score > best_score:
            best, best_score = index, score
    return best


def _describe_difference(expected: Row, actual: Row, operation: int) -> Mismatch:
    differing = [column for column in expected if expected[column] != actual.get(column)]
    parts = [
        f"{column}: expected {_quote(expected[column])}, found {_quote(actual.get(column))}" for column in differing
    ]
    same = {column: expected[column] for column in expected if column not in differing}
    return Mismatch(
        "different",
        f"row {_show(same, same)} differs in " + "; ".join(parts),
        operation,
        _texts(expected, expected),
        _texts(actual, expected),
    )


def _named_columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _texts(row: Row, columns: Mapping[str, object] | Sequence[str]) -> dict[str, str | None]:
    return {column: show_value(row.get(column)) for column in columns}


def _quote(value: object) -> str:
    shown = show_value(value)
    return "NULL" if shown is None else shown


def _show(row: Row, columns: Mapping[str, object] | Sequence[str]) -> str:
    return "{" + ", ".join(f"{column}: {_quote(row.get(column))}" for column in columns) + "}"

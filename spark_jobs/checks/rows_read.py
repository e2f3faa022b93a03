"""Reads for checks, each as few as can be: one aggregate for all totals of the same rows, one for the same groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

from spark_jobs.checks.values import Value, read_value, spell_value
from spark_jobs.contract.sql import WORKING, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.checks.background import Background
    from spark_jobs.contract.checks import CheckedValue, GroupKey
    from spark_jobs.sinks.protocol import StagedPart

MOST_COLLECTED_GROUPS = 10_000
"""Groups that are compared by the driver; more are compared by Spark."""
COUNTED = "@n"


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows are read: of an output, of a table, or of the input."""

    output: int | None = None
    table: str | None = None
    part: StagedPart | None = None


Open = Callable[[Rows], "DataFrame"]
Group = tuple[Value, ...]
"""The values of the grouping columns."""


def find_rows(value: CheckedValue) -> Rows:
    """Return the rows that a value is of."""
    return Rows(value.output, value.table)


@dataclass(slots=True)
class Totals:
    """Aggregates without groups: wanted first, then computed with one read for the same rows."""

    open: Open
    known: dict[tuple[Rows, str], Any] = field(default_factory=dict)
    """What is known without a read."""
    _wanted: dict[Rows, dict[str, None]] = field(default_factory=dict)
    _begun: dict[tuple[Rows, str], Future[dict[str, Any]]] = field(default_factory=dict)

    def want(self, rows: Rows, sql: str) -> None:
        """Ask for the value of an aggregate."""
        if (rows, sql) not in self.known:
            self._wanted.setdefault(rows, {})[sql] = None

    def begin(self, background: Background) -> None:
        """Begin to read what was asked for."""
        for rows, wanted in self._wanted.items():
            begun = background.submit(partial(self._read, rows, tuple(wanted)))
            self._begun |= dict.fromkeys(((rows, sql) for sql in wanted), begun)
        self._wanted.clear()

    def has(self, rows: Rows, sql: str) -> bool:
        """Tell whether the value of an aggregate was asked for."""
        return (rows, sql) in self.known or (rows, sql) in self._begun

    def get(self, rows: Rows, sql: str) -> Any:
        """Return the value of an aggregate."""
        return self.known[rows, sql] if (rows, sql) in self.known else self._begun[rows, sql].result()[sql]

    def read(self, rows: Rows, sql: str) -> Any:
        """Read the value of an aggregate now."""
        return self._read(rows, (sql,))[sql]

    def _read(self, rows: Rows, wanted: Sequence[str]) -> dict[str, Any]:
        aggregates = [functions.expr(sql).alias(f"@{index}") for index, sql in enumerate(wanted)]
        found = self.open(rows).alias(WORKING).agg(*aggregates).first()
        assert found is not None
        return dict(zip(wanted, found, strict=True))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows in groups."""

    rows: Rows
    keys: tuple[GroupKey, ...]
    where: str | None


@dataclass(slots=True)
class GroupTotals:
    """Aggregates of groups: those of the same groups are read together."""

    open: Open
    most: int = MOST_COLLECTED_GROUPS
    _wanted: dict[Grouping, dict[str, None]] = field(default_factory=dict)
    _begun: dict[Grouping, Future[Mapping[Group, tuple[Any, ...]] | None]] = field(default_factory=dict)

    def want(self, value: CheckedValue, keys: tuple[GroupKey, ...]) -> None:
        """Ask for the values of an aggregate."""
        self._wanted.setdefault(make_grouping(value, keys), {})[spell_value(value.sql, value.type)] = None

    def begin(self, background: Background) -> None:
        """Begin to read what was asked for."""
        for grouping, wanted in self._wanted.items():
            if grouping not in self._begun:
                self._begun[grouping] = background.submit(partial(self._read, grouping, tuple(wanted)))

    def _read(self, grouping: Grouping, wanted: Sequence[str]) -> Mapping[Group, tuple[Any, ...]] | None:
        """Return the values of each group, unless there are too many."""
        found = self.build(grouping, wanted).limit(self.most + 1).collect()
        width = len(grouping.keys)
        by_key = {read_group(row, grouping.keys): tuple(row[width:]) for row in found}
        return by_key if len(found) <= self.most else None

    def find(self, value: CheckedValue, keys: tuple[GroupKey, ...]) -> dict[Group, Value] | None:
        """Return the value of each group; None when there are too many."""
        grouping = make_grouping(value, keys)
        found = self._begun[grouping].result()
        position = list(self._wanted[grouping]).index(spell_value(value.sql, value.type)) + 1
        if found is None:
            return None
        return {key: read_value(row[position], value.type) for key, row in found.items()}

    def count_rows(self, value: CheckedValue, keys: tuple[GroupKey, ...]) -> int | None:
        """Return how many rows there are in all groups; None when there are too many groups."""
        found = self._begun[make_grouping(value, keys)].result()
        return None if found is None else sum(row[0] for row in found.values())

    def build(self, grouping: Grouping, aggregates: Sequence[str]) -> DataFrame:
        """Return the groups: keys `@k0`, …, number of rows, and values `@v0`, …"""
        frame = self.open(grouping.rows).alias(WORKING)
        if grouping.where is not None:
            frame = frame.where(grouping.where)
        keys = [
            functions.expr(spell_value(f"CAST(`{WORKING}`.{quote_name(key.name)} AS {key.type})", key.type)).alias(
                name_key(index)
            )
            for index, key in enumerate(grouping.keys)
        ]
        values = [functions.expr(sql).alias(f"@v{index}") for index, sql in enumerate(aggregates)]
        return frame.groupBy(*keys).agg(functions.expr("count(1)").alias(COUNTED), *values)


def make_grouping(value: CheckedValue, keys: tuple[GroupKey, ...]) -> Grouping:
    """Return the groups that a value is of."""
    return Grouping(find_rows(value), keys, value.where)


def read_group(row: Sequence[Any], keys: Sequence[GroupKey]) -> Group:
    """Return the keys with which a row of groups begins."""
    return tuple(read_value(part, key.type) for part, key in zip(row, keys, strict=False))


def name_key(index: int) -> str:
    """Return the name of a grouping column."""
    return f"@k{index}"


def count_where(where: str | None) -> str:
    """Return SQL that counts the rows that are looked at."""
    return "count(1)" if where is None else f"count(CASE WHEN {where} THEN 1 END)"


def count_failing(condition: str, where: str | None) -> str:
    """Return SQL that counts the rows looked at for which a condition is not TRUE."""
    return f"count({flag_failing(condition, where)})"


def flag_failing(condition: str, where: str | None) -> str:
    """Return SQL that is 1 for the rows looked at for which a condition is not TRUE, else NULL."""
    flagged = f"CASE WHEN {condition} THEN NULL ELSE 1 END"
    return flagged if where is None else f"CASE WHEN {where} THEN {flagged} END"

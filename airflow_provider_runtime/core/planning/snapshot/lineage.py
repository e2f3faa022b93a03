"""Column lineage: where each column of each output comes from, and what else decides its values.

There is one walk. It follows rows by where they come from, as the job does, over operations as a plan has them
(`plan_lineage.py`, for `explain` and OpenLineage) or as a checked project has them (`stale/signatures.py`, for the plan
of stale periods, which also compares digests).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from airflow_provider_runtime.core.planning.check.origins import INPUT, Origins

S = TypeVar("S")
"""How a source column is named."""


@dataclass(frozen=True, slots=True)
class Lineage(Generic[S]):
    """What a value, or a set of rows, is made from."""

    digest: str
    values: frozenset[S] = frozenset()
    """Source columns whose values go into it."""
    sources: frozenset[S] = frozenset()
    """All that it depends on: those, and what conditions and groups read."""


Columns = Mapping[str, Lineage[S]]
Aliases = Mapping[str, Columns[S]]
Find = Callable[[Columns[S], Aliases[S]], Lineage[S]]
"""Follows an expression over the columns of the current row and of its aliases."""


def combine(*parts: Lineage[S] | str | None, by: Iterable[Lineage[S] | None] = ()) -> Lineage[S]:
    """Return what is made from all of these, and decided by others."""
    deciding = list(by)
    made = [part for part in parts if isinstance(part, Lineage)]
    found = [part for part in (*made, *deciding) if part is not None]
    texts = [part.digest if isinstance(part, Lineage) else str(part) for part in (*parts, *deciding)]
    return Lineage(
        hash_text("\0".join(texts)),
        frozenset[S]().union(*(part.values for part in made)),
        frozenset[S]().union(*(part.sources for part in found)),
    )


def make_source(source: S, *texts: str) -> Lineage[S]:
    """Return the lineage of a source column, which comes from itself."""
    return Lineage(hash_text("\0".join(texts)), frozenset({source}), frozenset({source}))


def make_constant(*texts: str) -> Lineage[S]:
    """Return the lineage of what has no source."""
    return Lineage(hash_text("\0".join(texts)))


def hash_text(text: str) -> str:
    """Return a digest that is long enough to distinguish definitions."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Value(Generic[S]):
    """A column that an operation fills."""

    column: str
    type: str
    find: Find[S]
    is_over_group: bool = False


@dataclass(frozen=True, slots=True)
class Match(Generic[S]):
    """A join or lookup."""

    alias: str
    columns: Columns[S]
    rows: Lineage[S]
    condition: Find[S]
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[S]):
    """An operation, as far as lineage goes."""

    seq: int
    kind: str
    origins: Origins
    where: Find[S] | None = None
    """Which working rows it takes."""
    matches: tuple[Match[S], ...] = ()
    values: tuple[Value[S], ...] = ()
    """Assignments of an update; aggregations of an aggregate or an append."""
    group_by: tuple[str, ...] = ()
    new_columns: Columns[S] = field(default_factory=dict)
    """Columns of rows that it makes, as long as nothing fills them."""
    source: Columns[S] = field(default_factory=dict)
    """Append: the columns of the source rows."""
    source_rows: Lineage[S] | None = None
    source_where: Find[S] | None = None
    pair: tuple[str, Find[S]] | None = None
    """Append: the alias of a source row, and the condition for a pair with a working row."""
    filled: tuple[Value[S], ...] = ()
    """Append: the columns that source rows, or pairs, fill."""
    written: tuple[tuple[str, str], ...] = ()
    """Output: names and types of its columns."""
    include_deleted: bool = False
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class StepLineage(Generic[S]):
    """Lineage of the columns that an operation fills or writes, and of the conditions that choose its rows."""

    seq: int
    columns: Columns[S]
    """For an output its columns, else the columns that the operation fills, with what is left of earlier values."""
    conditions: Lineage[S]
    """What its selector and its join conditions read."""
    rows: Lineage[S]
    """Which rows there are."""


@dataclass(frozen=True, slots=True)
class _Part(Generic[S]):
    """Rows of one origin."""

    rows: Lineage[S]
    columns: Columns[S]
    """Columns of rows that are not deleted."""
    kept: Columns[S]
    """Columns of all rows: a deleted one keeps what it had."""


@dataclass(frozen=True, slots=True)
class _Touched(Generic[S]):
    """Rows of one origin that an operation may touch."""

    part: _Part[S]
    aliases: Aliases[S]
    condition: Lineage[S] | None
    """What decides which rows are touched; None when all are."""
    conditions: Lineage[S]
    """All that its conditions read."""


class Walk(Generic[S]):
    """Follows rows through the operations of a project."""

    def __init__(self, rows: Lineage[S], columns: Columns[S]) -> None:
        self._parts = {INPUT: _Part(rows, columns, columns)}

    def follow(self, step: Step[S]) -> StepLineage[S]:
        """Follow one operation."""
        touched = {
            origin: self._touch(step, part)
            for origin, part in self._parts.items()
            if step.origins.seqs is None or origin in step.origins.seqs
        }
        if step.kind == "output":
            return _write(step, list(touched.values()))
        if step.kind == "append":
            return self._append(step, list(touched.values()) if step.pair is not None else [])
        if step.kind == "aggregate":
            return self._aggregate(step, list(touched.values()))
        for origin, found in touched.items():
            if step.kind == "delete":
                self._parts[origin] = replace(found.part, rows=combine("delete", found.part.rows, found.condition))
            else:
                self._parts[origin] = _update(step, found, list(touched.values()))
        columns = {
            value.column: combine("after", *(_get(self._parts[origin].columns, value.column) for origin in touched))
            for value in step.values
        }
        conditions = combine("conditions", *(found.conditions for found in touched.values()))
        return StepLineage(step.seq, columns, conditions, conditions)

    def _touch(self, step: Step[S], part: _Part[S]) -> _Touched[S]:
        aliases: dict[str, Columns[S]] = {}
        read: list[Lineage[S]] = []
        for match in step.matches:
            read.append(match.condition(part.columns, {**aliases, match.alias: match.columns}))
            decided = combine(read[-1], match.rows)
            aliases[match.alias] = {
                name: combine("match", column, match.defaults.get(name), by=[decided])
                for name, column in match.columns.items()
            }
        condition = None if step.where is None else step.where(part.columns, aliases)
        read += [] if condition is None else [condition]
        is_whole = step.origins.seqs is not None and step.origins.is_whole
        return _Touched(part, aliases, None if is_whole else condition, combine("conditions", *read))

    def _aggregate(self, step: Step[S], touched: list[_Touched[S]]) -> StepLineage[S]:
        keys = [[_get(found.part.columns, name) for name in step.group_by] for found in touched]
        rows = [combine("picked", found.part.rows, found.condition) for found in touched]
        groups = combine("groups", *rows, *(key for row in keys for key in row))
        found = {
            value.column: combine("aggregate", value.type, *(_find(value, each) for each in touched), by=[groups])
            for value in step.values
        }
        named = {name: combine("key", *(row[i] for row in keys), by=[groups]) for i, name in enumerate(step.group_by)}
        columns = {**step.new_columns, **named, **found}
        self._parts[step.seq] = _Part(groups, columns, columns)
        return StepLineage(step.seq, found, combine("conditions", *(each.conditions for each in touched)), groups)

    def _append(self, step: Step[S], touched: list[_Touched[S]]) -> StepLineage[S]:
        assert step.source_rows is not None
        read, rows, conditions = step.source, step.source_rows, [found.conditions for found in touched]
        if step.source_where is not None:
            conditions.append(step.source_where(read, {}))
            rows = combine("picked", rows, conditions[-1])
        if step.group_by or step.values:
            keys = {name: _get(read, name) for name in step.group_by}
            rows = combine("groups", rows, *keys.values())
            made = {item.column: combine("aggregate", item.find(read, {}), by=[rows]) for item in step.values}
            read = {**{name: combine("key", key, by=[rows]) for name, key in keys.items()}, **made}
        if step.pair is None:
            filled = {item.column: combine("set", item.type, item.find(read, {})) for item in step.filled}
        else:
            alias, find = step.pair
            touched = [replace(found, aliases={**found.aliases, alias: read}) for found in touched]
            pairs = [find(found.part.columns, found.aliases) for found in touched]
            conditions += pairs
            rows = combine(
                "pairs",
                rows,
                *(combine(found.part.rows, found.condition, pair) for found, pair in zip(touched, pairs, strict=True)),
            )
            filled = {
                item.column: combine("set", item.type, *(_find(item, found) for found in touched), by=[rows])
                for item in step.filled
            }
        if step.distinct:
            rows = combine("distinct", rows, *filled.values())
        columns = {**step.new_columns, **filled}
        self._parts[step.seq] = _Part(rows, columns, columns)
        return StepLineage(step.seq, filled, combine("conditions", *conditions), rows)


def _update(step: Step[S], found: _Touched[S], touched: list[_Touched[S]]) -> _Part[S]:
    part, condition = found.part, found.condition
    changed, kept = dict(part.columns), dict(part.kept)
    for item in step.values:
        value = combine("set", item.type, _find(item, found))
        if item.is_over_group:
            # It depends on all touched rows, wherever they come from.
            value = combine(
                "over", value, *(combine(each.part.rows, each.condition, _find(item, each)) for each in touched)
            )
        before = [] if condition is None else [_get(part.columns, item.column)]
        changed[item.column] = combine("update", value, *before, by=[condition])
        kept[item.column] = combine("kept", changed[item.column], _get(part.kept, item.column))
    changed["_updated_at"] = combine("touched", _get(part.columns, "_updated_at"), by=[condition])
    kept["_updated_at"] = combine("kept", changed["_updated_at"], _get(part.kept, "_updated_at"))
    return _Part(part.rows, changed, kept)


def _write(step: Step[S], touched: list[_Touched[S]]) -> StepLineage[S]:
    written = [found.part.kept if step.include_deleted else found.part.columns for found in touched]
    columns = {name: combine(kind, *(_get(found, name) for found in written)) for name, kind in step.written}
    picked = (combine("picked", found.part.rows, found.condition) for found in touched)
    rows = combine("output", str(step.include_deleted), *picked)
    if step.distinct:
        rows = combine("distinct", rows, *columns.values())
    return StepLineage(step.seq, columns, combine("conditions", *(found.conditions for found in touched)), rows)


def _find(item: Value[S], found: _Touched[S]) -> Lineage[S]:
    return item.find(found.part.columns, found.aliases)


def _get(columns: Columns[S], name: str) -> Lineage[S]:
    return columns.get(name) or make_constant("null")

"""Column lineage of a plan: where each column of each output comes from, and which operations made it what it is.

There is one: `explain` and OpenLineage show it, and what else asks which columns a change concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from spark_jobs.contract.plan import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    Column,
    DeleteOperation,
    Expression,
    Operation,
    OutputOperation,
    Read,
    UpdateOperation,
)
from spark_jobs.contract.system_columns import SYSTEM_TYPES


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table that is read; the table by its key in the plan."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The source columns whose values go into a column, and the operations that put them there."""

    sources: frozenset[SourceColumn] = frozenset()
    operations: frozenset[int] = frozenset()

    def __or__(self, other: ColumnLineage) -> ColumnLineage:
        return ColumnLineage(self.sources | other.sources, self.operations | other.operations)


@dataclass(frozen=True, slots=True)
class OperationLineage:
    """Lineage of the columns that an operation fills or writes, and of the conditions that choose its rows."""

    seq: int
    columns: Mapping[str, ColumnLineage]
    """For an output its columns, else the columns that the operation puts values into, with what they had before."""
    conditions: ColumnLineage
    """What its selector and its join conditions read."""
    rows: ColumnLineage = field(default_factory=ColumnLineage)
    """For an output: what has decided which rows there are, by selectors, groups, appends and deletes before it."""


_Columns = dict[str, ColumnLineage]
_NOTHING = ColumnLineage()


@dataclass(slots=True)
class _Tracer:
    live: _Columns
    """Columns of rows that are not deleted."""
    all: _Columns
    """Columns of all rows: a deleted one keeps what it had."""
    rows: ColumnLineage = _NOTHING
    found: list[OperationLineage] = field(default_factory=list)

    def trace(self, operation: AnyOperation) -> None:
        """Follow one operation."""
        conditions = self._trace_conditions(operation)
        if isinstance(operation, OutputOperation):
            state = self.all if operation.include_deleted else self.live
            columns = {column.name: state.get(column.name, _NOTHING) for column in operation.columns}
            self.found.append(OperationLineage(operation.seq, columns, conditions, self.rows | conditions))
            return
        filled = self._trace_values(operation)
        for name, lineage in filled.items():
            self.all[name] = self.all.get(name, _NOTHING) | lineage
            is_replaced = isinstance(operation, UpdateOperation) and operation.where is None
            self.live[name] = lineage if is_replaced else self.live.get(name, _NOTHING) | lineage
        self.found.append(OperationLineage(operation.seq, {name: self.live[name] for name in filled}, conditions))
        if not isinstance(operation, UpdateOperation):
            keys = self._trace_groups(operation)
            made = ColumnLineage(operations=frozenset({operation.seq}))
            self.rows = self.rows | conditions | keys | made

    def _trace_values(self, operation: AnyOperation) -> _Columns:
        if isinstance(operation, DeleteOperation):
            return {}
        if not isinstance(operation, AppendOperation):
            return _trace_all(operation.expressions, self.live, _read_joins(operation), operation.seq)
        source = _trace_source(operation)
        if operation.expand is None:
            return _trace_all(operation.columns, source, {}, operation.seq)
        aliases = {**_read_joins(operation.expand.rows), operation.expand.alias: source}
        return _trace_all(operation.columns, self.live, aliases, operation.seq)

    def _trace_conditions(self, operation: Operation) -> ColumnLineage:
        rows = _read_source(operation) if isinstance(operation, AppendOperation) else self.live
        reads = [*operation.where_reads, *(read for join in operation.joins for read in join.reads)]
        found = _resolve(reads, rows, _read_joins(operation))
        if operation.where is not None:
            found = replace(found, operations=found.operations | {operation.seq})
        if isinstance(operation, AppendOperation) and operation.expand is not None:
            aliases = {**_read_joins(operation.expand.rows), operation.expand.alias: _trace_source(operation)}
            found |= self._trace_conditions(operation.expand.rows)
            found |= _resolve(operation.expand.reads, self.live, aliases)
        return found

    def _trace_groups(self, operation: AnyOperation) -> ColumnLineage:
        if not isinstance(operation, AggregateOperation | AppendOperation):
            return _NOTHING
        rows = _read_source(operation) if isinstance(operation, AppendOperation) else self.live
        return _resolve([Read(name) for name in operation.group_by], rows, {})


def trace_lineage(
    input_key: str, input_columns: Iterable[Column], operations: Iterable[AnyOperation]
) -> tuple[OperationLineage, ...]:
    """Return the lineage of every operation of a plan, in seq order."""
    loaded = {
        column.name: ColumnLineage(frozenset({SourceColumn(input_key, column.name)}))
        for column in input_columns
        if column.name not in SYSTEM_TYPES
    }
    tracer = _Tracer(dict(loaded), dict(loaded))
    for operation in operations:
        tracer.trace(operation)
    return tuple(tracer.found)


class _Table(dict[str, ColumnLineage]):
    """Columns of a table: each comes from itself."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, name: str) -> ColumnLineage:
        return ColumnLineage(frozenset({SourceColumn(self.table, name)}))


class _Source(_Table):
    """Columns of a table whose rows are appended: system columns are replaced."""

    def __missing__(self, name: str) -> ColumnLineage:
        return _NOTHING if name in SYSTEM_TYPES else super().__missing__(name)


def _read_source(operation: AppendOperation) -> _Columns:
    return _Source(operation.source)


def _trace_source(operation: AppendOperation) -> _Columns:
    """Return the columns of the (aggregated) source rows."""
    rows = _read_source(operation)
    rows |= _trace_all(operation.aggregations, rows, {}, operation.seq)
    return rows


def _read_joins(operation: Operation) -> dict[str, _Columns]:
    return {join.alias: _Table(join.table) for join in operation.joins}


def _trace_all(items: Iterable[Expression], rows: _Columns, aliases: Mapping[str, _Columns], seq: int) -> _Columns:
    own = ColumnLineage(operations=frozenset({seq}))
    return {item.column: _resolve(item.reads, rows, aliases) | own for item in items}


def _resolve(reads: Iterable[Read], rows: _Columns, aliases: Mapping[str, _Columns]) -> ColumnLineage:
    found = _NOTHING
    for read in reads:
        columns = rows if read.alias is None else aliases.get(read.alias, {})
        try:
            found |= columns[read.column]
        except KeyError:
            continue
    return found

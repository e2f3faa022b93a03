"""Column lineage: which input columns each column of the working dataset, and of an output, comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject, TableUse


@dataclass(frozen=True, slots=True, order=True)
class InputColumn:
    """A column of a table that the project reads."""

    dataset: str
    """Name of the dataset."""
    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.dataset}.{self.table}.{self.column}"


Sources = frozenset[InputColumn]
NOTHING: Sources = frozenset()


@dataclass(frozen=True, slots=True)
class OperationLineage:
    """Sources of the columns that an operation fills or writes, and of the conditions that choose its rows."""

    seq: int
    columns: Mapping[str, Sources]
    """For an output its columns, else the columns that the operation puts values into, with what they had before."""
    conditions: Sources
    """Input columns of the selector and of join conditions."""


def trace_lineage(checked: CheckedProject) -> tuple[OperationLineage, ...]:
    """Return the lineage of every operation, in seq order."""
    if checked.input is None:
        return ()
    state: dict[str, Sources] = {
        column.name: frozenset({_name(checked.input, column.name)})
        for column in checked.input_columns
        if column.origin == "declared"
    }
    found = []
    for operation in checked.operations:
        changed = _trace(operation, state)
        found.append(OperationLineage(operation.seq, changed, _trace_conditions(operation, state)))
        if operation.operation.type != "output":
            state.update(changed)
    return tuple(found)


def _trace(operation: CheckedOperation, state: Mapping[str, Sources]) -> dict[str, Sources]:
    kind = operation.operation.type
    if kind == "output":
        return {column.name: state.get(column.name, NOTHING) for column in operation.output_columns}
    if kind == "append":
        return _trace_append(operation, state)
    tables = {join.alias: join.table for join in operation.joins}
    changed: dict[str, Sources] = {}
    for item in operation.expressions:
        sources = _resolve(item.checked, state, tables)
        keeps_rows = kind == "aggregate" or operation.where is not None
        changed[item.column] = sources | (state.get(item.column, NOTHING) if keeps_rows else NOTHING)
    return changed


def _trace_append(operation: CheckedOperation, state: Mapping[str, Sources]) -> dict[str, Sources]:
    if operation.source is None:
        return {}
    rows = {column.name: frozenset({_name(operation.source, column.name)}) for column in operation.source.table.columns}
    for item in operation.expressions:
        rows[item.column] = _resolve(item.checked, dict(rows), {})
    return {
        item.column: state.get(item.column, NOTHING) | _resolve(item.checked, rows, {}) for item in operation.filled
    }


def _trace_conditions(operation: CheckedOperation, state: Mapping[str, Sources]) -> Sources:
    tables = {join.alias: join.table for join in operation.joins}
    if operation.source is not None:
        columns = operation.source.table.columns
        state = {column.name: frozenset({_name(operation.source, column.name)}) for column in columns}
    conditions: Iterable[Checked | None] = [operation.where, *(join.condition for join in operation.joins)]
    return NOTHING.union(*(_resolve(checked, state, tables) for checked in conditions if checked is not None))


def _resolve(checked: Checked, state: Mapping[str, Sources], tables: Mapping[str, TableUse]) -> Sources:
    found: set[InputColumn] = set()
    for alias, column in checked.columns:
        if alias is None:
            found |= state.get(column, NOTHING)
        elif alias in tables:
            found.add(_name(tables[alias], column))
    return frozenset(found)


def _name(table: TableUse, column: str) -> InputColumn:
    return InputColumn(table.dataset.model.name, table.table.name, column)

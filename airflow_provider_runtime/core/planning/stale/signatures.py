"""What determines each column of each output, as digests and as the source columns behind them.

Two definitions whose outputs have the same digests give the same values from the same data: a change to an operation
reaches those columns only whose values it can change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.typed import Typed, has_window
from airflow_provider_runtime.core.model.dataset import list_temporal_columns
from airflow_provider_runtime.core.model.operation import AppendOperation, OutputOperation
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedExpression,
    CheckedJoin,
    CheckedOperation,
    CheckedProject,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.origins import find_origins
from airflow_provider_runtime.core.planning.snapshot.lineage import (
    Aliases,
    Columns,
    Find,
    Lineage,
    Match,
    Step,
    Value,
    Walk,
    combine,
    hash_text,
    make_constant,
    make_source,
)


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table that is read; an empty `column` stands for which rows the table has."""

    dataset_id: str
    table: str
    column: str = ""


_Lineage = Lineage[SourceColumn]


def make_period_source(function: str) -> SourceColumn:
    """Return what stands for a function of the run's period, whose value the calendar decides."""
    return SourceColumn("", "period", function)


@dataclass(frozen=True, slots=True)
class OutputSignature:
    """What determines an output: which rows it has, each of its columns, and where it goes."""

    seq: int
    rows: Lineage[SourceColumn]
    columns: Columns[SourceColumn]
    target: str
    """Digest of destination, write mode and the name under which it is registered."""
    registers: str | None = None

    def list_affected(self, changed: Iterable[SourceColumn]) -> tuple[str, ...]:
        """Return the columns whose values or rows depend on any of these source columns."""
        found = frozenset(changed)
        if not self.rows.sources.isdisjoint(found):
            return tuple(self.columns)
        return tuple(name for name, lineage in self.columns.items() if not lineage.sources.isdisjoint(found))


def sign_outputs(checked: CheckedProject) -> dict[int, OutputSignature]:
    """Return what determines each output of a project without errors, by seq."""
    assert checked.input is not None
    read = _read_table(checked.input)
    columns = {
        column.name: combine("column", column.type.ddl, read.get(column.name, make_constant("system", column.name)))
        for column in checked.input_columns
    }
    walk = Walk(_read_rows(checked.input), columns)
    outputs = {}
    for operation in checked.operations:
        found, model = walk.follow(_make_step(checked, operation)), operation.operation
        if isinstance(model, OutputOperation):
            chosen = {"destination", "write_mode", "register_as_dataset"}
            target = hash_text(model.arguments.model_dump_json(by_alias=True, include=chosen))
            registers = operation.registered_dataset
            outputs[operation.seq] = OutputSignature(operation.seq, found.rows, found.columns, target, registers)
    return outputs


def _make_step(checked: CheckedProject, operation: CheckedOperation) -> Step[SourceColumn]:
    model = operation.operation
    given: dict[str, Any] = {}
    if operation.source is not None:
        given = {"source": _read_table(operation.source), "source_rows": _read_rows(operation.source)}
    if operation.expand is not None:
        given["pair"] = (operation.expand.alias, _find(operation.expand.condition))
    if isinstance(model, OutputOperation):
        given["include_deleted"] = model.arguments.include_deleted
    if isinstance(model, AppendOperation | OutputOperation):
        given["distinct"] = model.arguments.distinct
    return Step(
        seq=operation.seq,
        kind=model.type,
        origins=find_origins(checked, operation, None),
        where=_find(operation.where) if operation.where is not None else None,
        matches=tuple(map(_make_match, operation.joins)),
        values=_make_values(operation.expressions),
        group_by=operation.group_by,
        new_columns={
            column.name: _make_system_column(column.name) if column.origin == "system" else make_constant("null")
            for column in operation.columns_after
        },
        source_where=_find(operation.source_where) if operation.source_where is not None else None,
        filled=_make_values(operation.filled),
        written=tuple((column.name, column.type.ddl) for column in operation.output_columns),
        **given,
    )


def _make_match(join: CheckedJoin) -> Match[SourceColumn]:
    rows = _read_rows(join.table)
    if join.table.as_of is not None:
        rows = combine("as of", str(join.table.as_of), rows)
    defaults = {column: repr(default.value) for column, default in join.defaults.items()}
    return Match(join.alias, _read_table(join.table), rows, _find(join.condition), defaults)


def _make_values(items: Iterable[CheckedExpression]) -> tuple[Value[SourceColumn], ...]:
    return tuple(
        Value(item.column, item.type.ddl, _find(item.checked), has_window(item.checked.node)) for item in items
    )


def _find(checked: Checked) -> Find[SourceColumn]:
    return partial(_sign_node, checked.node)


def _sign_node(node: Typed, columns: Columns[SourceColumn], aliases: Aliases[SourceColumn]) -> _Lineage:
    # Iterative, as expressions may be nested deeply: children before parents.
    done: dict[int, _Lineage] = {}
    stack = [(node, False)]
    while stack:
        current, is_ready = stack.pop()
        if current.op == "column":
            assert isinstance(current.value, tuple)
            alias, name = current.value
            known = columns if alias is None else aliases.get(alias, {})
            done[id(current)] = known.get(name) or make_constant("null")
        elif is_ready:
            parts = [done[id(argument)] for argument in current.args]
            if (function := FUNCTIONS.get(current.op)) is not None and function.is_of_run:
                parts = [make_source(make_period_source(current.op), current.op)]
            done[id(current)] = combine(current.op, str(current.type), repr(current.value), *parts)
        else:
            stack.append((current, True))
            stack += [(argument, False) for argument in current.args]
    return done[id(node)]


def _read_table(table: TableUse) -> dict[str, _Lineage]:
    """Return the columns of a table, each made from itself."""
    declared = [(column.name, column.data_type) for column in table.table.columns]
    dataset_id, name = table.dataset.model.id, table.table.name
    return {
        column: make_source(SourceColumn(dataset_id, name, column), "source", dataset_id, name, column, data_type.ddl)
        for column, data_type in [*list_temporal_columns(table.table), *declared]
    }


def _read_rows(table: TableUse) -> _Lineage:
    found = SourceColumn(table.dataset.model.id, table.table.name)
    shift = table.dataset.model.period_shift
    shown = ("rows", found.dataset_id, found.table, table.table.temporal_mode, *((str(shift),) if shift else ()))
    return make_source(found, *shown)


def _make_system_column(name: str) -> _Lineage:
    if name == "_period_from":
        return make_source(make_period_source("PERIOD_START"), "made", name)
    return make_constant("made", name)

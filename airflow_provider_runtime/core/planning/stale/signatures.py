"""What determines each column of each output, as digests and as the source columns behind them.

Two definitions whose outputs have the same digests give the same values from the same data. The walk follows rows by
where they come from, as the job does: a change to an operation reaches those columns only whose values it can change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.typed import Typed, has_window
from airflow_provider_runtime.core.model.dataset import list_temporal_columns
from airflow_provider_runtime.core.model.operation import AppendOperation, OutputOperation
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedExpand,
    CheckedJoin,
    CheckedOperation,
    CheckedProject,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.origins import INPUT, Origins, find_origins


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table that is read; `column` is empty for the table's rows as such."""

    dataset_id: str
    table: str
    column: str = ""


def make_period_source(function: str) -> SourceColumn:
    """Return what stands for a function of the run's period, whose value the calendar decides."""
    return SourceColumn("", "period", function)


@dataclass(frozen=True, slots=True)
class Trace:
    """What a value, or a set of rows, is made from."""

    digest: str
    sources: frozenset[SourceColumn] = frozenset()


@dataclass(frozen=True, slots=True)
class OutputSignature:
    """What determines an output: which rows it has, each of its columns, and where it goes."""

    seq: int
    rows: Trace
    columns: Mapping[str, Trace]
    target: str
    """Digest of destination, write mode and the name under which it is registered."""
    registers: str | None = None

    def list_affected(self, changed: Iterable[SourceColumn]) -> tuple[str, ...]:
        """Return the columns whose values or rows depend on any of these source columns."""
        found = frozenset(changed)
        if not self.rows.sources.isdisjoint(found):
            return tuple(self.columns)
        return tuple(name for name, trace in self.columns.items() if not trace.sources.isdisjoint(found))


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one origin."""

    rows: Trace
    columns: Mapping[str, Trace]


@dataclass(slots=True)
class _Walk:
    checked: CheckedProject
    parts: dict[int, _Part] = field(default_factory=dict)

    def run(self) -> dict[int, OutputSignature]:
        """Walk through the operations; return the outputs' signatures by seq."""
        assert self.checked.input is not None
        self.parts[INPUT] = self._load(self.checked.input)
        outputs = {}
        for operation in self.checked.operations:
            kind = operation.operation.type
            if kind == "output":
                outputs[operation.seq] = self._sign_output(operation)
            elif kind == "append":
                self.parts[operation.seq] = self._append(operation)
            elif kind == "aggregate":
                self.parts[operation.seq] = self._aggregate(operation)
            else:
                self._change(operation)
        return outputs

    def _load(self, table: TableUse) -> _Part:
        read = read_table(table)
        columns = {
            column.name: mix("column", column.type.ddl, read.get(column.name, _constant("system", column.name)))
            for column in self.checked.input_columns
        }
        return _Part(_rows_of(table), columns)

    def _change(self, operation: CheckedOperation) -> None:
        groups = self._sign_groups(operation)
        for origin, part, picked in self._list_touched(operation):
            aliases = _sign_joins(operation, part.columns)
            condition = _sign_condition(operation, part, aliases, picked)
            if operation.operation.type == "delete":
                self.parts[origin] = replace(part, rows=mix("delete", part.rows, condition))
                continue
            changed = dict(part.columns)
            for item in operation.expressions:
                value = mix("set", item.type.ddl, sign(item.checked, part.columns, aliases))
                if has_window(item.checked.node):
                    value = mix("over", value, groups)
                before = [] if condition is None else [part.columns.get(item.column, _NULL)]
                changed[item.column] = mix("update", condition, value, *before)
            changed["_updated_at"] = mix("touched", condition, part.columns["_updated_at"])
            self.parts[origin] = replace(part, columns=changed)

    def _sign_groups(self, operation: CheckedOperation) -> Trace:
        """Return what group functions of an update depend on beside the row: all touched rows and their values."""
        signed = []
        for _, part, picked in self._list_touched(operation):
            aliases = _sign_joins(operation, part.columns)
            values = [
                sign(item.checked, part.columns, aliases)
                for item in operation.expressions
                if has_window(item.checked.node)
            ]
            signed.append(mix(part.rows, _sign_condition(operation, part, aliases, picked), *values))
        return mix("groups", *signed)

    def _aggregate(self, operation: CheckedOperation) -> _Part:
        rows, keys, values = [], [], []
        for _, part, picked in self._list_touched(operation):
            aliases = _sign_joins(operation, part.columns)
            condition = _sign_condition(operation, part, aliases, picked)
            rows.append(mix("picked", part.rows, condition))
            keys.append([part.columns.get(name, _NULL) for name in operation.group_by])
            values.append([sign(item.checked, part.columns, aliases) for item in operation.expressions])
        groups = mix("groups", *rows, *(key for row in keys for key in row))
        columns = self._list_new_columns(operation)
        for index, name in enumerate(operation.group_by):
            columns[name] = mix("key", groups, *(row[index] for row in keys))
        for index, item in enumerate(operation.expressions):
            columns[item.column] = mix("aggregate", item.type.ddl, groups, *(row[index] for row in values))
        return _Part(groups, columns)

    def _append(self, operation: CheckedOperation) -> _Part:
        assert operation.source is not None
        read = read_table(operation.source)
        rows = _rows_of(operation.source)
        if operation.source_where is not None:
            rows = mix("picked", rows, sign(operation.source_where, read, {}))
        if operation.group_by or operation.expressions:
            rows = mix("groups", rows, *(read.get(name, _NULL) for name in operation.group_by))
            made = {item.column: mix("aggregate", rows, sign(item.checked, read, {})) for item in operation.expressions}
            read = {**{name: mix("key", rows, read.get(name, _NULL)) for name in operation.group_by}, **made}
        columns = self._list_new_columns(operation)
        if operation.expand is None:
            filled = {item.column: mix("set", item.type.ddl, sign(item.checked, read, {})) for item in operation.filled}
        else:
            rows, filled = self._pair(operation, operation.expand, rows, read)
        model = operation.operation
        if isinstance(model, AppendOperation) and model.arguments.distinct:
            rows = mix("distinct", rows, *filled.values())
        return _Part(rows, columns | filled)

    def _pair(
        self, operation: CheckedOperation, expand: CheckedExpand, rows: Trace, read: Mapping[str, Trace]
    ) -> tuple[Trace, dict[str, Trace]]:
        """Return what pairs of source rows and working rows depend on, and what the columns made of them do."""
        pairs, values = [rows], []
        for _, part, picked in self._list_touched(operation):
            aliases = {**_sign_joins(operation, part.columns), expand.alias: dict(read)}
            condition = _sign_condition(operation, part, aliases, picked)
            pairs.append(mix("paired", part.rows, condition, sign(expand.condition, part.columns, aliases)))
            values.append([sign(item.checked, part.columns, aliases) for item in operation.filled])
        made = mix("pairs", *pairs)
        filled = {
            item.column: mix("set", item.type.ddl, made, *(found[index] for found in values))
            for index, item in enumerate(operation.filled)
        }
        return made, filled

    def _list_new_columns(self, operation: CheckedOperation) -> dict[str, Trace]:
        """Return the columns of rows that an operation makes, as long as nothing fills them."""
        return {
            column.name: _make_system_column(column.name) if column.origin == "system" else _NULL
            for column in operation.columns_after
        }

    def _sign_output(self, operation: CheckedOperation) -> OutputSignature:
        model = operation.operation
        assert isinstance(model, OutputOperation)
        rows, values = [], []
        for _, part, picked in self._list_touched(operation):
            aliases = _sign_joins(operation, part.columns)
            rows.append(mix("picked", part.rows, _sign_condition(operation, part, aliases, picked)))
            values.append(part.columns)
        arguments = model.arguments
        columns = {
            column.name: mix(column.type.ddl, *(found.get(column.name, _NULL) for found in values))
            for column in operation.output_columns
        }
        shown = arguments.model_dump_json(by_alias=True, include={"destination", "write_mode", "register_as_dataset"})
        signed = mix("output", str(arguments.include_deleted), *rows)
        if arguments.distinct:
            signed = mix("distinct", signed, *columns.values())
        return OutputSignature(operation.seq, signed, columns, _hash(shown), operation.registered_dataset)

    def _list_touched(self, operation: CheckedOperation) -> list[tuple[int, _Part, Origins]]:
        found = find_origins(self.checked, operation, None)
        return [
            (origin, part, found) for origin, part in self.parts.items() if found.seqs is None or origin in found.seqs
        ]


def sign_outputs(checked: CheckedProject) -> dict[int, OutputSignature]:
    """Return what determines each output of a project without errors, by seq."""
    return _Walk(checked).run()


def sign(checked: Checked, columns: Mapping[str, Trace], aliases: Mapping[str, Mapping[str, Trace]]) -> Trace:
    """Return what an expression is made from."""
    return _sign_node(checked.node, columns, aliases)


def _sign_node(node: Typed, columns: Mapping[str, Trace], aliases: Mapping[str, Mapping[str, Trace]]) -> Trace:
    # Iterative, as expressions may be nested deeply: children before parents.
    done: dict[int, Trace] = {}
    stack = [(node, False)]
    while stack:
        current, is_ready = stack.pop()
        if current.op == "column":
            assert isinstance(current.value, tuple)
            alias, name = current.value
            known = columns if alias is None else aliases.get(alias, {})
            done[id(current)] = known.get(name, _NULL)
        elif is_ready:
            parts = [done[id(argument)] for argument in current.args]
            if (function := FUNCTIONS.get(current.op)) is not None and function.is_of_run:
                parts = [Trace(current.op, frozenset({make_period_source(current.op)}))]
            done[id(current)] = mix(current.op, str(current.type), repr(current.value), *parts)
        else:
            stack.append((current, True))
            stack += [(argument, False) for argument in current.args]
    return done[id(node)]


def mix(*parts: Trace | str | None) -> Trace:
    """Return what is made from all of these."""
    texts = [part.digest if isinstance(part, Trace) else str(part) for part in parts]
    sources = frozenset[SourceColumn]().union(*(part.sources for part in parts if isinstance(part, Trace)))
    return Trace(_hash("\0".join(texts)), sources)


def read_table(table: TableUse) -> dict[str, Trace]:
    """Return the columns of a table, each made from itself."""
    declared = [(column.name, column.data_type) for column in table.table.columns]
    dataset_id, name = table.dataset.model.id, table.table.name
    return {
        column: Trace(
            _hash("\0".join(("source", dataset_id, name, column, data_type.ddl))),
            frozenset({SourceColumn(dataset_id, name, column)}),
        )
        for column, data_type in [*list_temporal_columns(table.table), *declared]
    }


def _rows_of(table: TableUse) -> Trace:
    found = SourceColumn(table.dataset.model.id, table.table.name)
    shift = table.dataset.model.period_shift
    shown = f"rows\0{found.dataset_id}\0{found.table}\0{table.table.temporal_mode}" + (f"\0{shift}" if shift else "")
    return Trace(_hash(shown), frozenset({found}))


def _sign_joins(operation: CheckedOperation, columns: Mapping[str, Trace]) -> dict[str, dict[str, Trace]]:
    """Return the columns of an operation's aliases: each depends on the join's condition and on the matched rows."""
    aliases: dict[str, dict[str, Trace]] = {}
    for join in operation.joins:
        read = read_table(join.table)
        condition = mix(
            sign(join.condition, columns, {**aliases, join.alias: read}), _rows_of(join.table), _show_day(join.table)
        )
        aliases[join.alias] = {
            name: mix("match", trace, condition, *_list_default(join, name)) for name, trace in read.items()
        }
    return aliases


def _show_day(table: TableUse) -> str | None:
    return None if table.as_of is None else str(table.as_of)


def _list_default(join: CheckedJoin, column: str) -> list[str]:
    return [repr(join.defaults[column].value)] if column in join.defaults else []


def _sign_condition(
    operation: CheckedOperation, part: _Part, aliases: Mapping[str, Mapping[str, Trace]], picked: Origins
) -> Trace | None:
    """Return what decides which rows of a part are touched; None when all are."""
    if operation.where is None or (picked.seqs is not None and picked.is_whole):
        return None
    return sign(operation.where, part.columns, aliases)


def _make_system_column(name: str) -> Trace:
    made = _constant("made", name)
    return replace(made, sources=frozenset({make_period_source("PERIOD_START")})) if name == "_period_from" else made


def _constant(*texts: str) -> Trace:
    return Trace(_hash("\0".join(texts)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_NULL = _constant("null")

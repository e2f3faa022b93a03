"""From a checked project to the operations of a plan: SQL text, and marks that lead back to the YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_runtime.core.catalog.definition import format_path
from airflow_provider_runtime.core.errors import Place
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.operators import may_fail
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.spark_sql import (
    Defaults,
    compile_alternatives,
    compile_assignment,
    compile_equalities,
    compile_sql,
)
from airflow_provider_runtime.core.expr.typed import has_window
from airflow_provider_runtime.core.model import operation as written
from airflow_provider_runtime.core.model.dataset import list_temporal_columns
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedExpand,
    CheckedExpression,
    CheckedJoin,
    CheckedOperation,
    CheckedProject,
    Path,
    WorkingColumn,
)
from airflow_provider_runtime.core.planning.check.origins import find_origins
from airflow_provider_runtime.core.planning.check.proofs import find_group_key
from airflow_provider_runtime.core.planning.resolve.destinations import resolve_destination
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    Destination,
    Equality,
    Expand,
    Expression,
    GroupColumn,
    Join,
    OutputOperation,
    Read,
    Slice,
    UpdateOperation,
)
from spark_jobs.contract.operations import Operation as PlanOperation
from spark_jobs.contract.tables import Column, Mark


@dataclass(frozen=True, slots=True)
class CompiledOperations:
    """The plan's operations, the marks that their SQL names, and the tables that they read."""

    operations: tuple[AnyOperation, ...]
    marks: dict[str, Mark]
    used_tables: frozenset[str]


@dataclass(slots=True)
class _Compiler:
    checked: CheckedProject
    run: RunConstants
    table_keys: Mapping[str, str]
    destinations: Mapping[int, Destination]
    slices: Mapping[int, Slice]
    marks: dict[str, Mark] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """The working dataset's columns so far."""

    def compile(self, operation: CheckedOperation) -> AnyOperation:
        """Compile one operation."""
        return {
            "update": self._compile_update,
            "aggregate": self._compile_aggregate,
            "append": self._compile_append,
            "delete": self._compile_delete,
            "output": self._compile_output,
        }[operation.operation.type](operation)

    def _compile_update(self, operation: CheckedOperation) -> AnyOperation:
        assignments, steps = [], list[list[GroupColumn]]()
        defaults = _list_defaults(operation.joins)
        for position, item in enumerate(operation.expressions):
            mark = self._mark(operation, item.path)
            sql, made = compile_assignment(
                item.checked, run=self.run, target=item.type, mark=mark, prefix=f"g{position}", defaults=defaults
            )
            assignments.append(self._make_expression(item, sql, mark))
            steps += [[] for _ in range(len(made) - len(steps))]
            for step, columns in enumerate(made):
                steps[step] += columns
        return UpdateOperation(
            **self._compile_selection(operation),
            assignments=tuple(assignments),
            group_steps=tuple(tuple(step) for step in steps),
        )

    def _compile_aggregate(self, operation: CheckedOperation) -> AnyOperation:
        return AggregateOperation(
            **self._compile_selection(operation),
            group_by=operation.group_by,
            aggregations=self._compile_expressions(operation, operation.expressions),
        )

    def _compile_append(self, operation: CheckedOperation) -> AnyOperation:
        model = operation.operation
        assert operation.source is not None
        assert isinstance(model, written.AppendOperation)
        return AppendOperation(
            **self._compile_shared(operation),
            where=self._compile_condition(operation, operation.source_where, ("arguments", "source_selector")),
            where_reads=_list_reads(operation.source_where),
            source=self._use(operation.source.key),
            source_dataset_id=operation.source.dataset.model.id,
            group_by=operation.group_by,
            aggregations=self._compile_expressions(operation, operation.expressions),
            columns=self._compile_expressions(operation, operation.filled),
            distinct=model.arguments.distinct,
            expand=None if operation.expand is None else self._compile_expand(operation, operation.expand),
        )

    def _compile_expand(self, operation: CheckedOperation, expand: CheckedExpand) -> Expand:
        return Expand(
            alias=expand.alias,
            condition=compile_sql(expand.condition, run=self.run, mark=self._mark(operation, expand.path)),
            reads=_list_reads(expand.condition),
            rows=PlanOperation(
                type=operation.operation.type,
                seq=operation.seq,
                name=operation.operation.name,
                mark=self._mark(operation, ()),
                **self._compile_rows(operation),
            ),
        )

    def _compile_delete(self, operation: CheckedOperation) -> AnyOperation:
        return DeleteOperation(**self._compile_selection(operation))

    def _compile_output(self, operation: CheckedOperation) -> AnyOperation:
        model = operation.operation
        assert isinstance(model, written.OutputOperation)
        return OutputOperation(
            **self._compile_selection(operation),
            columns=make_plan_columns(operation.output_columns),
            include_deleted=model.arguments.include_deleted,
            write_mode=model.arguments.write_mode,
            destination=self.destinations[operation.seq],
            slice=self.slices.get(operation.seq),
            distinct=model.arguments.distinct,
            key=self._find_key(operation, model.arguments.key),
        )

    def _find_key(self, operation: CheckedOperation, declared: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the columns that say which row is which: as declared, else the keys of the groups that it holds."""
        if declared is not None:
            return declared
        keys = find_group_key(self.checked, operation, self.run) or ()
        return keys if set(keys) <= {column.name for column in operation.output_columns} else ()

    def _compile_shared(self, operation: CheckedOperation) -> dict[str, Any]:
        """Return what every operation of a plan has."""
        return {
            "seq": operation.seq,
            "name": operation.operation.name,
            "mark": self._mark(operation, ()),
            "adds": self._list_added(operation),
        }

    def _compile_selection(self, operation: CheckedOperation) -> dict[str, Any]:
        """Return what an operation on rows of the working dataset has: a selector, and the joins that it needs."""
        return {**self._compile_shared(operation), **self._compile_rows(operation)}

    def _compile_rows(self, operation: CheckedOperation) -> dict[str, Any]:
        """Return which rows of the working dataset an operation takes."""
        origins = find_origins(self.checked, operation, self.run)
        return {
            "where": self._compile_condition(operation, operation.where, ("selector",)),
            "where_reads": _list_reads(operation.where),
            "origins": origins.seqs,
            "picks_by_origin": origins.is_whole,
            "joins": self._compile_joins(operation),
        }

    def _compile_condition(self, operation: CheckedOperation, condition: Checked | None, path: Path) -> str | None:
        if condition is None:
            return None
        mark, defaults = self._mark(operation, path), _list_defaults(operation.joins)
        return compile_sql(condition, run=self.run, mark=mark, defaults=defaults)

    def _compile_expressions(
        self, operation: CheckedOperation, items: Iterable[CheckedExpression]
    ) -> tuple[Expression, ...]:
        compiled, defaults = [], _list_defaults(operation.joins)
        for item in items:
            mark = self._mark(operation, item.path)
            sql = compile_sql(item.checked, run=self.run, target=item.type, mark=mark, defaults=defaults)
            compiled.append(self._make_expression(item, sql, mark))
        return tuple(compiled)

    def _make_expression(self, item: CheckedExpression, sql: str, mark: str) -> Expression:
        reads, can_fail = _list_reads(item.checked), may_fail(item.checked, item.type)
        return Expression(item.column, item.type.ddl, sql, mark, reads, can_fail, has_window(item.checked.node))

    def _compile_joins(self, operation: CheckedOperation) -> tuple[Join, ...]:
        return tuple(self._compile_join(operation, join) for join in operation.joins)

    def _compile_join(self, operation: CheckedOperation, join: CheckedJoin) -> Join:
        mark = self._mark(operation, join.path, None if join.path else f"lookups.{join.alias}")
        others = [other.condition for other in operation.joins if other is not join]
        used = _list_alias_columns(join.alias, [*_list_expressions(operation), *others])
        # While a match is looked for, the alias is a row of its table: only earlier aliases have defaults.
        defaults = _list_defaults(other for other in operation.joins if other is not join)
        equalities = compile_equalities(join.condition, join.alias, run=self.run, defaults=defaults)
        return Join(
            alias=join.alias,
            table=self._use(join.table.key),
            columns=tuple(name for name in _list_table_columns(join) if name in used),
            condition=compile_sql(join.condition, run=self.run, mark=mark, defaults=defaults),
            equalities=tuple(Equality(row=row, alias=alias) for row, alias in equalities),
            alternatives=tuple(
                compile_alternatives(join.condition, join.alias, run=self.run, mark=mark, defaults=defaults)
            ),
            key=_list_key(operation, join),
            reads=_list_reads(join.condition),
            mark=mark,
            counted=not join.is_lookup,
            required=join.required,
        )

    def _list_added(self, operation: CheckedOperation) -> tuple[Column, ...]:
        added = [column for column in operation.columns_after if column.name not in self.known]
        self.known.update(column.name for column in added)
        return make_plan_columns(added)

    def _use(self, key: str) -> str:
        self.used.add(key)
        return self.table_keys.get(key, key)

    def _mark(self, operation: CheckedOperation, path: Path, name: str | None = None) -> str:
        """Return the mark of a place, such as `10:assignments[0].expression`, and remember the place."""
        place = self.checked.definition.locate("operations", operation.index, *path)
        tail = name or format_path(path[1:] if path[:1] == ("arguments",) else path)
        mark = f"{operation.seq}:{tail}" if tail else str(operation.seq)
        self.marks[mark] = make_plan_mark(place, operation.seq)
        return mark


def compile_operations(
    checked: CheckedProject,
    *,
    run: RunConstants,
    destinations: Mapping[int, Destination] | None = None,
    slices: Mapping[int, Slice] | None = None,
    table_keys: Mapping[str, str] | None = None,
    sandbox: str | None = None,
) -> CompiledOperations:
    """Compile the operations of a project without errors.

    `destinations` and `slices` are by the outputs' seq; without `destinations` they are resolved here, below `sandbox`
    if that is given.
    """
    if destinations is None:
        destinations = resolve_destinations(checked, sandbox=sandbox)
    compiler = _Compiler(checked, run, table_keys or {}, destinations, slices or {})
    compiler.known.update(column.name for column in checked.input_columns)
    operations = tuple(compiler.compile(operation) for operation in checked.operations)
    return CompiledOperations(operations, compiler.marks, frozenset({"input", *compiler.used}))


def resolve_destinations(checked: CheckedProject, *, sandbox: str | None = None) -> dict[int, Destination]:
    """Return where every output goes, by seq."""
    return {
        operation.seq: resolve_destination(checked.catalog, checked.definition, operation.index, sandbox=sandbox)
        for operation in checked.operations
        if operation.operation.type == "output"
    }


def make_plan_columns(columns: Iterable[WorkingColumn]) -> tuple[Column, ...]:
    """Return columns as the plan writes them."""
    return tuple(Column(name=column.name, type=column.type.ddl, nullable=column.nullable) for column in columns)


def make_plan_mark(place: Place, seq: int | None = None) -> Mark:
    """Return a place as the plan writes it."""
    return Mark(file=place.file, line=place.line, column=place.column, field=place.field, operation_seq=seq)


def _list_defaults(joins: Iterable[CheckedJoin]) -> Defaults:
    return {(join.alias, column): value for join in joins for column, value in join.defaults.items()}


def _list_expressions(operation: CheckedOperation) -> list[Checked]:
    where = [] if operation.where is None else [operation.where]
    pairs = [] if operation.expand is None else [operation.expand.condition]
    return [*where, *pairs, *(item.checked for item in (*operation.expressions, *operation.filled))]


def _list_alias_columns(alias: str, expressions: Iterable[Checked]) -> set[str]:
    return {column for checked in expressions for name, column in checked.columns if name == alias}


def _list_table_columns(join: CheckedJoin) -> list[str]:
    """Return the columns of a joined table that expressions may use, in order."""
    declared = [column.name for column in join.table.table.columns]
    temporal = [name for name, _ in list_temporal_columns(join.table.table) if name not in declared]
    return [*declared, *temporal]


def _list_key(operation: CheckedOperation, join: CheckedJoin) -> tuple[str, ...]:
    used = {column for alias, column in join.condition.columns if alias is None}
    return tuple(column.name for column in operation.columns_after if column.name in used)


def _list_reads(checked: Checked | None) -> tuple[Read, ...]:
    found = () if checked is None else checked.columns
    return tuple(Read(column, alias) for alias, column in sorted(found, key=lambda read: (read[0] or "", read[1])))

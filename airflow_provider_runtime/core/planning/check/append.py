"""Append: the rows of another dataset, filtered and perhaps aggregated, under the working dataset's columns.

With `expand` each pair of such a row and a selected working row makes a new row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_runtime.core.catalog.lookup_conditions import make_relation
from airflow_provider_runtime.core.expr.checker import Checked, check_tree
from airflow_provider_runtime.core.expr.datatypes import is_assignable
from airflow_provider_runtime.core.expr.nodes import ColumnRef
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.model.operation import AggregateArguments, AppendOperation, Expand, PairedColumn
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES, DataType
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedExpand,
    CheckedExpression,
    CheckedOperation,
    Path,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.context import OperationContext, make_table_use, uses_of
from airflow_provider_runtime.core.planning.check.grouping import AggregatedRows, check_aggregations, check_group_by
from airflow_provider_runtime.core.planning.check.names import check_alias, check_new_name, check_target, suggest_column
from airflow_provider_runtime.core.planning.check.selection import check_selection
from airflow_provider_runtime.core.planning.check.update import make_contribution, put_added
from airflow_provider_runtime.core.planning.check.wording import (
    SOURCE_AGGREGATION,
    SOURCE_SELECTOR,
    describe_assignment,
    make_pair_wording,
)


def check_append(context: OperationContext) -> CheckedOperation:
    """Check an append; without its source only what needs none is checked."""
    operation = context.operation
    assert isinstance(operation, AppendOperation)
    expand = operation.arguments.expand
    where = _check_selection(context, operation)
    source = _check_source(context, operation)
    if source is None:
        context.note_selectors(operation.arguments.source_selector or "")
        for item in expand.columns if expand is not None and operation.arguments.add_columns else ():
            context.working.poison(item.column)
        return CheckedOperation(operation.seq, context.index, operation, context.working.columns, where=where)
    relation = make_relation(source.table.name, "source", source.table)
    scope = Scope(relation, {}, context.project.definition.model.selectors)
    source_where = None
    if operation.arguments.source_selector is not None:
        path: Path = ("arguments", "source_selector")
        text = operation.arguments.source_selector
        source_where = context.check(text, path, scope, SOURCE_SELECTOR, boolean=True, poisoned=set())
    grouping, rows = _Grouping((), (), {}), relation
    if operation.arguments.aggregation is not None:
        grouping = _check_aggregation(context, operation.arguments.aggregation, relation, is_filled=expand is None)
        rows = grouping.describe_rows(relation)
    pairs = None
    if expand is not None:
        pairs, filled = _check_expand(context, expand, rows)
    elif operation.arguments.aggregation is None:
        filled = _fill_from_source(context, source, relation)
    else:
        filled = _fill_from_groups(context, grouping, rows)
    context.working.fill({item.column: item.checked.nullable for item in filled}, others_null=True)
    asked = [where, pairs.condition if pairs is not None else None, *(item.checked for item in filled if pairs)]
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        joins=uses_of(context.project.lookups, asked),
        expressions=grouping.expressions,
        group_by=grouping.group_by,
        source=source,
        source_where=source_where,
        expand=pairs,
        filled=tuple(filled),
    )


def _check_selection(context: OperationContext, operation: AppendOperation) -> Checked | None:
    """Check which working rows are paired; without `expand` there is nothing to select."""
    if operation.arguments.expand is not None:
        return check_selection(context, operation, context.make_scope())
    for key, value in (("selector", operation.selector), ("from", operation.from_)):
        if value is not None:
            message = f"append has no {key} without `expand`: it takes rows of its source, not of the working dataset"
            hint = "filter the source with source_selector in the arguments, or leave it out"
            context.report("CATALOG_002", message, (key,), hint)
    return None


def _check_expand(
    context: OperationContext, expand: Expand, rows: Relation
) -> tuple[CheckedExpand | None, list[CheckedExpression]]:
    """Check the condition and the columns of pairs; `rows` are the (aggregated) source rows."""
    base: Path = ("arguments", "expand")
    is_free = check_alias(context, expand.alias, (*base, "alias"), {})
    scope = context.make_scope([replace(rows, name=expand.alias)])
    condition = context.check(expand.on, (*base, "on"), scope, make_pair_wording(expand.alias), boolean=True)
    added_before = frozenset(context.working.added)
    checked: list[tuple[PairedColumn, int, Checked | None]] = []
    seen: set[str] = set()
    lowered: dict[str, str] = {}
    for position, item in enumerate(expand.columns):
        path: Path = (*base, "columns", position)
        is_good = check_target(context, item.column, seen, lowered, (*path, "column"))
        seen.add(item.column)
        lowered.setdefault(item.column.lower(), item.column)
        wording = make_pair_wording(expand.alias, describe_assignment(item.column))
        value = context.check(item.expression, (*path, "expression"), scope, wording)
        if is_good and _check_known(context, item.column, (*path, "column")):
            checked.append((item, position, value))
    filled = []
    for item, position, value in checked:
        if value is None:
            context.working.poison(item.column)
            continue
        path = (*base, "columns", position, "expression")
        put = _put_column(context, item.column, value, path, added_before)
        if put is not None:
            filled.append(put)
    if condition is None or not is_free:
        return None, filled
    return CheckedExpand(expand.alias, condition, (*base, "on")), filled


def _check_source(context: OperationContext, operation: AppendOperation) -> TableUse | None:
    reference, pinned = operation.arguments.source.dataset_id, operation.arguments.source.dataset_version
    answer = context.project.find_dataset(reference, pinned)
    path: Path = ("arguments", "source")
    if answer.definition is None:
        missing = answer.describe("source dataset", reference, pinned)
        if missing is not None:
            context.report(*missing, (*path, answer.key), answer.hint)
        return None
    place = context.locate((*path, "dataset_id"))
    use = make_table_use(answer.definition, "append", reference, place, seq=operation.seq, pinned=pinned)
    return context.add_table(use)


def _fill_from_source(context: OperationContext, source: TableUse, relation: Relation) -> list[CheckedExpression]:
    """Fill working columns of the same names with the source's declared columns."""
    columns = {column.name: ScopeColumn(column.data_type, column.nullable) for column in source.table.columns}
    filled = []
    for name in columns:
        item = _fill_column(context, name, Relation(relation.name, "source", columns), ("arguments", "source"))
        if item is not None:
            filled.append(item)
    return filled


@dataclass(frozen=True, slots=True)
class _Grouping:
    """A checked aggregation of source rows, and where its grouping columns are named."""

    group_by: tuple[str, ...]
    expressions: tuple[CheckedExpression, ...]
    paths: dict[str, Path]

    def describe_rows(self, source: Relation) -> Relation:
        """Return the columns of the aggregated rows."""
        columns = {name: source.columns[name] for name in self.group_by}
        columns |= {item.column: ScopeColumn(item.type, item.checked.nullable) for item in self.expressions}
        return Relation(source.name, "source", columns)


def _check_aggregation(
    context: OperationContext, arguments: AggregateArguments, relation: Relation, *, is_filled: bool
) -> _Grouping:
    """Check an aggregation; `is_filled`: its columns fill the working columns of their names."""
    base: Path = ("arguments", "aggregation")
    rows = AggregatedRows(base, Scope(relation), SOURCE_AGGREGATION, "APPEND_006", set())
    group_by = check_group_by(context, arguments, rows)
    found = check_aggregations(
        context, arguments, group_by, rows, lambda column, path: not is_filled or _check_known(context, column, path)
    )
    expressions = tuple(
        CheckedExpression(aggregation.column, checked.type, checked, (*base, "aggregations", position, "expression"))
        for aggregation, position, checked in found
        if checked is not None
    )
    paths: dict[str, Path] = {
        text.rpartition(".")[2]: (*base, "group_by", position) for position, text in enumerate(arguments.group_by)
    }
    return _Grouping(group_by, expressions, paths)


def _fill_from_groups(context: OperationContext, grouping: _Grouping, rows: Relation) -> list[CheckedExpression]:
    """Fill working columns with the grouping columns, system columns apart, and with the aggregations."""
    paths = grouping.paths | {item.column: item.path for item in grouping.expressions}
    names = [name for name in rows.columns if name not in SYSTEM_COLUMN_NAMES]
    filled = (_fill_column(context, name, rows, paths[name]) for name in names)
    return [item for item in filled if item is not None]


def _check_known(context: OperationContext, column: str, path: Path) -> bool:
    """Report a column that the working dataset does not have, and that is not to be added."""
    if context.working.knows(column):
        return True
    operation = context.operation
    assert isinstance(operation, AppendOperation)
    if operation.arguments.add_columns:
        return check_new_name(context, column, path, {})
    hint = suggest_column(column, context.working.names())
    context.report("APPEND_003", f"Column '{column}' not in working dataset", path, hint)
    return False


def _fill_column(context: OperationContext, name: str, rows: Relation, path: Path) -> CheckedExpression | None:
    """Put a column of the (aggregated) source rows into the working column of its name."""
    if not _check_known(context, name, path):
        return None
    return _put_column(context, name, read_column(rows, name), path, frozenset())


def _put_column(
    context: OperationContext, name: str, checked: Checked, path: Path, added_before: frozenset[str]
) -> CheckedExpression | None:
    """Put a value into a working column that may be there already."""
    present = context.working.find(name)
    if present is None:
        added = None if context.working.knows(name) else put_added(context, name, checked, added_before, path)
        return None if added is None else CheckedExpression(name, added, checked, path)
    if present.origin == "added":
        if context.working.contribute(name, make_contribution(context, checked, added_before, path)):
            return CheckedExpression(name, context.working.added[name].type, checked, path)
    elif is_assignable(checked.type, present.type):
        return CheckedExpression(name, present.type, checked, path)
    _report_type(context, name, checked.type, present.type, path)
    return None


def _report_type(context: OperationContext, name: str, found: DataType, expected: DataType, path: Path) -> None:
    message = f"Column '{name}' is {found} and not assignable to the working dataset's {expected}"
    hint = "give it a value of the right type, or change one of the declarations"
    context.report("APPEND_003", message, path, hint)


def read_column(rows: Relation, name: str) -> Checked:
    """Return the expression that reads one column."""
    result = check_tree(ColumnRef(rows.name, name), Scope(rows, {}))
    assert result.expression is not None
    return result.expression

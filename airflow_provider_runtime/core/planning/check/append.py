"""Append: the rows of another dataset, filtered and perhaps aggregated, under the working dataset's columns."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.lookup_conditions import make_relation
from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.expr.checker import Checked, check_tree
from airflow_provider_runtime.core.expr.datatypes import is_assignable
from airflow_provider_runtime.core.expr.nodes import ColumnRef
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.model.operation import AggregateArguments, AppendOperation
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES, DataType
from airflow_provider_runtime.core.planning.check.checked import CheckedExpression, CheckedOperation, Path, TableUse
from airflow_provider_runtime.core.planning.check.context import OperationContext, make_table_use
from airflow_provider_runtime.core.planning.check.grouping import Place, check_aggregations, check_group_by
from airflow_provider_runtime.core.planning.check.names import check_new_name, suggest_column
from airflow_provider_runtime.core.planning.check.update import put_added
from airflow_provider_runtime.core.planning.check.wording import SOURCE_AGGREGATION, SOURCE_SELECTOR
from airflow_provider_runtime.core.planning.check.working import Contribution


def check_append(context: OperationContext) -> CheckedOperation:
    """Check an append; without its source only what needs none is checked."""
    operation = context.operation
    assert isinstance(operation, AppendOperation)
    source = _check_source(context, operation)
    if source is None:
        context.note_selectors(operation.arguments.source_selector or "")
        return CheckedOperation(operation.seq, context.index, operation, context.working.columns)
    relation = make_relation(source.table.name, "source", source.table)
    scope = Scope(relation, {}, context.project.definition.model.selectors)
    where = None
    if operation.arguments.source_selector is not None:
        path: Path = ("arguments", "source_selector")
        text = operation.arguments.source_selector
        where = context.check(text, path, scope, SOURCE_SELECTOR, boolean=True, poisoned=set())
    grouping = _Grouping((), (), {})
    if operation.arguments.aggregation is None:
        filled = _fill_from_source(context, source, relation)
    else:
        grouping = _check_aggregation(context, operation.arguments.aggregation, relation)
        filled = _fill_from_groups(context, grouping, relation)
    context.working.fill({item.column: item.checked.nullable for item in filled}, others_null=True)
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        expressions=grouping.expressions,
        group_by=grouping.group_by,
        source=source,
        filled=tuple(filled),
    )


def _check_source(context: OperationContext, operation: AppendOperation) -> TableUse | None:
    reference, pinned = operation.arguments.source.dataset_id, operation.arguments.source.dataset_version
    answer = context.project.find_dataset(reference, pinned)
    path: Path = ("arguments", "source")
    if answer.reason == "broken":
        return None
    if answer.definition is None:
        reasons: dict[str, tuple[Code, str, str]] = {
            "not_found": ("APPEND_001", f"source dataset '{reference}' not found", "dataset_id"),
            "version": ("APPEND_002", f"source dataset '{reference}' has no version {pinned}", "dataset_version"),
            "disabled": ("DATASET_002", f"source dataset '{reference}' is disabled", "dataset_id"),
        }
        code, message, name = reasons[answer.reason]
        context.report(code, message, (*path, name), answer.hint)
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


def _check_aggregation(context: OperationContext, arguments: AggregateArguments, relation: Relation) -> _Grouping:
    base: Path = ("arguments", "aggregation")
    place = Place(base, Scope(relation), SOURCE_AGGREGATION, "APPEND_006", set())
    group_by = check_group_by(context, arguments, place)
    found = check_aggregations(
        context, arguments, group_by, place, lambda column, path: _check_known(context, column, path)
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


def _fill_from_groups(context: OperationContext, grouping: _Grouping, relation: Relation) -> list[CheckedExpression]:
    """Fill working columns with the grouping columns, system columns apart, and with the aggregations."""
    rows = {name: relation.columns[name] for name in grouping.group_by}
    rows |= {item.column: ScopeColumn(item.type, item.checked.nullable) for item in grouping.expressions}
    paths = grouping.paths | {item.column: item.path for item in grouping.expressions}
    names = [name for name in rows if name not in SYSTEM_COLUMN_NAMES]
    filled = (_fill_column(context, name, Relation(relation.name, "source", rows), paths[name]) for name in names)
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
    checked = read_column(rows, name)
    present = context.working.find(name)
    if present is None:
        return _add_column(context, name, checked, path)
    if present.origin == "added":
        if context.working.contribute(name, Contribution(checked.type, frozenset(), context.index, path)):
            return CheckedExpression(name, context.working.added[name].type, checked, path)
    elif is_assignable(checked.type, present.type):
        return CheckedExpression(name, present.type, checked, path)
    _report_type(context, name, checked.type, present.type, path)
    return None


def _add_column(context: OperationContext, name: str, checked: Checked, path: Path) -> CheckedExpression | None:
    """Put a column of the source rows into a new working column, where columns may be added."""
    if context.working.knows(name):
        return None
    added = put_added(context, name, checked, frozenset(), path)
    return None if added is None else CheckedExpression(name, added, checked, path)


def _report_type(context: OperationContext, name: str, found: DataType, expected: DataType, path: Path) -> None:
    message = f"Column '{name}' is {found} and not assignable to the working dataset's {expected}"
    hint = "aggregate the source into columns of the right type, or change one of the declarations"
    context.report("APPEND_003", message, path, hint)


def read_column(rows: Relation, name: str) -> Checked:
    """Return the expression that reads one column."""
    result = check_tree(ColumnRef(rows.name, name), Scope(rows, {}))
    assert result.expression is not None
    return result.expression

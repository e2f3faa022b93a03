"""Aggregate: grouping columns and aggregate expressions, whose results come as new rows."""

from __future__ import annotations

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.model.operation import AggregateOperation, Aggregation
from airflow_provider_runtime.core.planning.check.checked import CheckedExpression, CheckedOperation, Path
from airflow_provider_runtime.core.planning.check.context import OperationContext, uses_of
from airflow_provider_runtime.core.planning.check.grouping import AggregatedRows, check_aggregations, check_group_by
from airflow_provider_runtime.core.planning.check.names import check_new_name
from airflow_provider_runtime.core.planning.check.selection import check_selection
from airflow_provider_runtime.core.planning.check.update import put_added
from airflow_provider_runtime.core.planning.check.wording import AGGREGATION


def check_aggregate(context: OperationContext) -> CheckedOperation:
    """Check an aggregate and add the columns that it makes."""
    operation = context.operation
    assert isinstance(operation, AggregateOperation)
    scope = context.make_scope()
    where = check_selection(context, operation, scope)
    rows = AggregatedRows(("arguments",), scope, AGGREGATION, "AGG_002", context.working.poisoned)
    group_by = check_group_by(context, operation.arguments, rows)
    seen: dict[str, str] = {}

    def check_column(column: str, path: Path) -> bool:
        is_good = check_new_name(context, column, path, seen)
        seen.setdefault(column.lower(), column)
        return is_good

    found = check_aggregations(context, operation.arguments, group_by, rows, check_column)
    expressions = _put_aggregations(context, found, group_by)
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        joins=uses_of(context.project.lookups, [where, *(item.checked for item in expressions)]),
        expressions=tuple(expressions),
        group_by=group_by,
    )


def _put_aggregations(
    context: OperationContext, found: list[tuple[Aggregation, int, Checked | None]], group_by: tuple[str, ...]
) -> list[CheckedExpression]:
    working = context.working
    added_before = frozenset(working.added)
    expressions: list[CheckedExpression] = []
    for aggregation, position, checked in found:
        path: Path = ("arguments", "aggregations", position, "expression")
        present = working.find(aggregation.column)
        if checked is None:
            working.poison(aggregation.column)
        elif present is not None and present.origin == "declared":
            if context.check_assignable(checked, aggregation.column, present.type, path):
                expressions.append(CheckedExpression(aggregation.column, present.type, checked, path))
        else:
            type_ = put_added(context, aggregation.column, checked, added_before, path)
            if type_ is not None:
                expressions.append(CheckedExpression(aggregation.column, type_, checked, path))
    filled = {item.column: item.checked.nullable for item in expressions} | dict.fromkeys(group_by, False)
    working.fill(filled, others_null=True)
    return expressions

"""The parts that an aggregate and an append's aggregation have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.scope import Scope
from airflow_provider_runtime.core.model.operation import AggregateArguments, Aggregation
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES
from airflow_provider_runtime.core.planning.check.checked import Path
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.planning.check.names import is_name, read_column_reference, suggest_column
from airflow_provider_runtime.core.planning.check.wording import Wording


@dataclass(frozen=True, slots=True)
class AggregatedRows:
    """The rows that an aggregation is over: its path, what it sees, and how its mistakes are reported."""

    path: Path
    scope: Scope
    wording: Wording
    unknown_column_code: Code
    unknown_columns: set[str]


def check_group_by(context: OperationContext, arguments: AggregateArguments, rows: AggregatedRows) -> tuple[str, ...]:
    """Check the grouping columns and return their bare names."""
    known = rows.scope.working.columns
    names: list[str] = []
    for position, text in enumerate(arguments.group_by):
        path = (*rows.path, "group_by", position)
        name = read_column_reference(text, rows.scope.working.name)
        if name in rows.unknown_columns:
            continue
        if name not in known:
            hint = suggest_column(name, list(known))
            context.report(rows.unknown_column_code, f"unknown column '{text}' in group_by", path, hint)
        elif name in names:
            context.report("AGG_003", f"column '{name}' is listed twice in group_by", path, "leave one of them out")
        else:
            names.append(name)
    return tuple(names)


def check_aggregations(
    context: OperationContext,
    arguments: AggregateArguments,
    group_by: tuple[str, ...],
    rows: AggregatedRows,
    check_column: Callable[[str, Path], bool],
) -> list[tuple[Aggregation, int, Checked | None]]:
    """Check output columns and expressions; `check_column` says what else must hold for an output column."""
    if not arguments.aggregations:
        hint = "add an aggregation such as {column: total, expression: SUM(amount)}"
        context.report("AGG_001", "at least one aggregation is needed", (*rows.path, "aggregations"), hint)
    seen: set[str] = set(group_by)
    found = []
    for position, aggregation in enumerate(arguments.aggregations):
        path = (*rows.path, "aggregations", position)
        is_good = _check_output(context, aggregation.column, seen, group_by, (*path, "column"))
        is_good = is_good and check_column(aggregation.column, (*path, "column"))
        seen.add(aggregation.column)
        checked = context.check(
            aggregation.expression,
            (*path, "expression"),
            rows.scope,
            rows.wording,
            aggregate=True,
            poisoned=rows.unknown_columns,
        )
        if is_good:
            found.append((aggregation, position, checked))
    return found


def _check_output(
    context: OperationContext, column: str, seen: set[str], group_by: tuple[str, ...], path: Path
) -> bool:
    if not is_name(column):
        hint = "a name has letters, digits and underscores, and does not begin with a digit"
        context.report("CATALOG_002", f"'{column}' is not the name of a column", path, hint)
        return False
    if column in SYSTEM_COLUMN_NAMES:
        hint = "the engine fills it; choose another column"
        context.report("AGG_005", f"the output of an aggregation cannot be the system column '{column}'", path, hint)
        return False
    if column in seen:
        what = "is grouped by and aggregated too" if column in group_by else "is aggregated twice"
        context.report("AGG_003", f"column '{column}' {what}", path, "give the aggregation another column")
        return False
    return True

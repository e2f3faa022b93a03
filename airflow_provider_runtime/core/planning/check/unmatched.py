"""Values that are NULL where a join finds nothing, and reach a sum or an output unguarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.operation import UpdateOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject, Path
from airflow_provider_runtime.core.planning.check.nullness import find_strict
from airflow_provider_runtime.core.planning.check.warning import make_warning


@dataclass(frozen=True, slots=True)
class _Unmatched:
    """Where a column got a value that is NULL without a match, and of which join."""

    path: Path
    alias: str


def list_unmatched_warnings(checked: CheckedProject) -> Iterator[Problem]:
    """Yield the assignments whose NULLs an aggregate or an output takes, each once."""
    unmatched: dict[str, _Unmatched] = {}
    reported: set[Path] = set()
    for operation in checked.operations:
        for column, found in _list_taken(operation, unmatched):
            if found.path not in reported:
                reported.add(found.path)
                verb = "aggregates" if operation.operation.type == "aggregate" else "writes"
                message = (
                    f"column '{column}' is NULL where join '{found.alias}' finds nothing, and"
                    f" {operation.operation.type} {operation.seq} {verb} it"
                )
                hint = f"write `required: true` or a `default` in the join, or COALESCE({found.alias}.…, …)"
                yield make_warning("WARN_002", message, hint, checked.definition, found.path)
        _follow(operation, unmatched)


def _list_taken(operation: CheckedOperation, unmatched: dict[str, _Unmatched]) -> Iterator[tuple[str, _Unmatched]]:
    """Yield the columns that an aggregate or output takes with their NULLs."""
    if operation.operation.type == "output":
        taken = {column.name for column in operation.output_columns}
    elif operation.operation.type == "aggregate":
        taken = {name for item in operation.expressions for name in _list_unguarded(item.checked.node, unmatched)}
    else:
        return
    asked = _list_asked(operation)
    for column in unmatched:
        if column in taken and column not in asked:
            yield column, unmatched[column]


def _follow(operation: CheckedOperation, unmatched: dict[str, _Unmatched]) -> None:
    """Note what an operation does to the columns that may lack a match."""
    model = operation.operation
    asked = _list_asked(operation)
    if model.type == "delete":
        for column in asked & unmatched.keys():
            del unmatched[column]
    if not isinstance(model, UpdateOperation):
        return
    open_aliases = {join.alias for join in model.arguments.joins if not join.required}
    open_aliases -= operation.where.aliases if operation.where is not None else frozenset()
    after = dict(unmatched)
    for item in operation.expressions:
        found = _find_unmatched(item.checked, open_aliases, model, unmatched)
        if found is not None:
            after[item.column] = _Unmatched(("operations", operation.index, *item.path), found)
        elif operation.where is None or item.column in asked:
            after.pop(item.column, None)
    unmatched.clear()
    unmatched.update(after)


def _list_asked(operation: CheckedOperation) -> set[str]:
    """Return the working columns that a selector looks at."""
    return {name for alias, name in operation.where.columns if alias is None} if operation.where else set()


def _find_unmatched(
    checked: Checked, aliases: set[str], model: UpdateOperation, unmatched: dict[str, _Unmatched]
) -> str | None:
    """Return the join without whose match the value is NULL."""
    defaults = {
        join.alias: frozenset(name for name, value in join.default.items() if value is not None)
        for join in model.arguments.joins
    }
    for alias, column in sorted(find_strict(checked.node), key=str):
        if alias is None and column in unmatched:
            return unmatched[column].alias
        if alias in aliases and column not in defaults[alias]:
            return alias
    return None


def _list_unguarded(node: Typed, unmatched: dict[str, _Unmatched]) -> set[str]:
    return {column for alias, column in find_strict(node) if alias is None and column in unmatched}

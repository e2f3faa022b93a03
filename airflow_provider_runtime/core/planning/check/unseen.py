"""Operations whose result no output, check or aggregate ever sees."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.typed import has_window
from airflow_provider_runtime.core.model.operation import UpdateOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject
from airflow_provider_runtime.core.planning.check.origins import Origins, find_origins
from airflow_provider_runtime.core.planning.check.warning import make_warning


def list_unseen_warnings(checked: CheckedProject) -> Iterator[Problem]:
    """Yield operations that could be left out without a change to what is published.

    Operations are walked from the last to the first, with the columns that a later one looks at.
    """
    if all(operation.operation.type != "output" for operation in checked.operations):
        # A project without an output publishes nothing yet: it is being written.
        return
    seen: set[str] = set()
    are_rows_seen = False
    unseen = []
    taken: list[Origins] = []
    for operation in reversed(checked.operations):
        kind = operation.operation.type
        written = {item.column for item in operation.expressions} if kind == "update" else set[str]()
        if kind == "output":
            seen |= {column.name for column in operation.output_columns}
        elif not are_rows_seen or (kind == "update" and not written & seen and not _can_fail(operation)):
            unseen.append(operation)
            continue
        # A selector that picks nothing already has its own warning.
        if kind in ("aggregate", "append") and all(found.seqs and operation.seq not in found.seqs for found in taken):
            unseen.append(operation)
            continue
        are_rows_seen = True
        if _looks_at_rows(operation):
            taken.append(find_origins(checked, operation, None))
        if kind == "update" and operation.where is None:
            seen -= written
        seen |= set(_list_read(operation))
    for operation in reversed(unseen):
        message = f"no output, check or aggregate ever sees what {operation.operation.type} {operation.seq} does"
        hint = "remove it, or let an output after it write what it makes"
        yield make_warning("WARN_005", message, hint, checked.definition, ("operations", operation.index, "type"))


def _looks_at_rows(operation: CheckedOperation) -> bool:
    """Whether something of the rows that an operation takes gets into other rows, or is written."""
    kind = operation.operation.type
    is_over_rows = any(has_window(item.checked.node) for item in operation.expressions)
    return kind in ("aggregate", "output") or operation.expand is not None or is_over_rows


def _can_fail(operation: CheckedOperation) -> bool:
    """Whether an update also proves something: a join that has to find a match."""
    model = operation.operation
    return isinstance(model, UpdateOperation) and any(join.required for join in model.arguments.joins)


def _list_read(operation: CheckedOperation) -> Iterator[str]:
    """Yield the working columns that an operation looks at."""
    expressions: list[Checked | None] = [operation.where, *(join.condition for join in operation.joins)]
    if operation.expand is not None:
        expressions += [operation.expand.condition, *(item.checked for item in operation.filled)]
    elif operation.source is None:
        expressions += [item.checked for item in operation.expressions]
        yield from operation.group_by
    for checked in expressions:
        if checked is not None:
            yield from (name for alias, name in checked.columns if alias is None)

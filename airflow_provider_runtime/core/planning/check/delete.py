"""Delete: nothing but a selector."""

from __future__ import annotations

from airflow_provider_runtime.core.model.operation import DeleteOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation
from airflow_provider_runtime.core.planning.check.context import OperationContext, uses_of


def check_delete(context: OperationContext) -> CheckedOperation:
    """Check a delete."""
    operation = context.operation
    assert isinstance(operation, DeleteOperation)
    where = context.check_selector(operation.selector, context.make_scope(), frozenset())
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        joins=uses_of(context.project.lookups, [where]),
    )

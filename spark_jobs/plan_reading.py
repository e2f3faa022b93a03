"""What a plan tells about later operations, so that earlier ones keep no more than is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from spark_jobs.snapshot import (
    AggregateOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)

if TYPE_CHECKING:
    from spark_jobs.snapshot import AnyOperation, Plan

_REFERENCE = re.compile(r"`@w`\.`([^`]+)`")


def list_sql(operation: AnyOperation) -> Iterator[str]:
    """Return the SQL texts of an operation that are evaluated over working rows."""
    if not isinstance(operation, AppendOperation) and operation.where is not None:
        yield operation.where
    for join in operation.joins:
        yield join.condition
        yield from (equality.row for equality in join.equalities)
    if isinstance(operation, UpdateOperation):
        yield from (item.sql for item in operation.assignments)
    elif isinstance(operation, AggregateOperation):
        yield from (item.sql for item in operation.aggregations)


def list_needed(operation: AnyOperation) -> set[str]:
    """Return the working columns that an operation reads."""
    needed = {name for sql in list_sql(operation) for name in _REFERENCE.findall(sql)}
    needed.update(name for join in operation.joins for name in join.key)
    if isinstance(operation, AggregateOperation):
        needed.update(operation.group_by)
    elif isinstance(operation, OutputOperation):
        needed.update(column.name for column in operation.columns)
    if isinstance(operation, UpdateOperation | DeleteOperation):
        needed.update(("_deleted", "_updated_at"))
    if operation.joins:
        # A row with more than one match is found again by its id.
        needed.add("_row_id")
    return needed


def needs_row_ids(plan: Plan) -> bool:
    """Tell whether any operation reads row ids."""
    return any("_row_id" in list_needed(operation) for operation in plan.operations)


def is_reader(operation: AnyOperation) -> bool:
    """Tell whether an operation makes Spark compute the working rows."""
    return isinstance(operation, AggregateOperation | OutputOperation)


def list_needed_by(operations: Sequence[AnyOperation]) -> set[str]:
    """Return the working columns that any of the operations reads."""
    needed: set[str] = set()
    return needed.union(*[list_needed(operation) for operation in operations])


def sees_deleted(operations: Sequence[AnyOperation]) -> bool:
    """Tell whether any of the operations looks at deleted rows."""
    return any(isinstance(operation, OutputOperation) and operation.include_deleted for operation in operations)


def find_host(
    operations: Sequence[AnyOperation], is_readable: Callable[[OutputOperation], bool]
) -> OutputOperation | None:
    """Find an output that writes the rows of now as they are and with all that the operations need of them.

    Such an output can be written first, and everybody else reads what it has written instead of computing it again.
    """
    if sees_deleted(operations):
        return None
    needed = list_needed_by(operations)
    for operation in operations:
        if isinstance(operation, UpdateOperation | DeleteOperation):
            return None
        if not isinstance(operation, OutputOperation) or operation.where is not None or operation.joins:
            continue
        kept = {column.name for column in operation.columns} | {"_deleted"}
        if needed <= kept and is_readable(operation):
            return operation
    return None

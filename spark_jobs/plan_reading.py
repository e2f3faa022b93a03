"""What a plan tells about later operations, so that earlier ones keep no more than is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.snapshot import (
    AggregateOperation,
    AppendOperation,
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
    if operation.joins:
        # A row with more than one match is found again by its id.
        needed.add("_row_id")
    return needed


def needs_row_ids(plan: Plan) -> bool:
    """Tell whether any operation reads row ids."""
    return any("_row_id" in list_needed(operation) for operation in plan.operations)

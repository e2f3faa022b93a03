"""What later operations of a plan need, so that earlier ones keep no more than that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from spark_jobs.contract.operations import (
    AggregateOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.rows.system_columns import CHANGING
from spark_jobs.rows.working import find_origins

if TYPE_CHECKING:
    from spark_jobs.contract.operations import AnyOperation, Operation
    from spark_jobs.contract.plan import Plan
    from spark_jobs.rows.working import Part


def list_needed(operation: Operation) -> set[str]:
    """Return the working columns that an operation reads."""
    if isinstance(operation, AppendOperation):
        return _list_paired(operation)
    reads = [*operation.where_reads, *(read for join in operation.joins for read in join.reads)]
    reads += [read for item in operation.expressions for read in item.reads]
    needed = {read.column for read in reads if read.alias is None}
    needed.update(name for join in operation.joins for name in join.key)
    if isinstance(operation, AggregateOperation):
        needed.update(operation.group_by)
    elif isinstance(operation, OutputOperation):
        needed.update(column.name for column in operation.columns)
        if operation.distinct and not needed.isdisjoint(SYSTEM_TYPES):
            # Equal rows differ in system columns, and the smallest id decides.
            needed.add("_row_id")
    if changes_rows(operation):
        needed.update(("_deleted", "_updated_at"))
    if operation.joins:
        # A row with more than one match is found again by its id.
        needed.add("_row_id")
    return needed


def _list_paired(operation: AppendOperation) -> set[str]:
    """Return the working columns that pairs of an append read; its other expressions are over the source's rows."""
    if operation.expand is None:
        return set()
    reads = [*operation.expand.reads, *(read for item in operation.columns for read in item.reads)]
    # The ids of the working rows distinguish pairs.
    return {"_row_id", *list_needed(operation.expand.rows), *(read.column for read in reads if read.alias is None)}


def needs_row_ids(plan: Plan) -> bool:
    """Return whether any operation reads row ids."""
    return any("_row_id" in list_needed(operation) for operation in plan.operations)


def is_reader(operation: AnyOperation) -> bool:
    """Return whether an operation makes Spark compute the working rows."""
    is_pairing = isinstance(operation, AppendOperation) and operation.expand is not None
    return is_pairing or isinstance(operation, AggregateOperation | OutputOperation)


def keeps_until_read(operations: Sequence[AnyOperation], columns: Collection[str]) -> bool:
    """Tell whether the first action over loaded rows finds them apart from all others, and these columns unchanged."""
    changed: set[str] = set()
    has_others = False
    for operation in operations:
        if isinstance(operation, AggregateOperation | AppendOperation):
            has_others = True
        elif isinstance(operation, OutputOperation):
            if operation.may_touch({0}):
                break
        elif operation.may_touch({0}):
            if has_others:
                # It takes all that it may touch as one.
                return False
            changed.update(CHANGING, (item.column for item in operation.expressions))
    return changed.isdisjoint(columns)


def list_needed_by(operations: Sequence[AnyOperation]) -> set[str]:
    """Return the working columns that any of the operations reads."""
    needed: set[str] = set()
    return needed.union(*[list_needed(operation) for operation in operations])


def sees_deleted(operations: Sequence[AnyOperation]) -> bool:
    """Return whether any of the operations looks at deleted rows."""
    return any(isinstance(operation, OutputOperation) and operation.include_deleted for operation in operations)


def find_host(
    operations: Sequence[AnyOperation], parts: Sequence[Part], is_readable: Callable[[OutputOperation], bool]
) -> tuple[OutputOperation, list[Part]] | None:
    """Find an output that writes rows of now as they are and with all that the operations need of them.

    Such an output can be written first, and everybody else reads what it has written instead of computing it again.
    """
    for index, operation in enumerate(operations):
        if not isinstance(operation, OutputOperation) or operation.joins or not is_readable(operation):
            continue
        if operation.distinct:  # It leaves rows out that others see.
            continue
        if any(part.staged_for == operation.seq for part in parts):
            continue
        written = [part for part in parts if operation.may_touch(part.origins)]
        origins = find_origins(written)
        users = list_users(operations, origins)
        if (
            any(part.depth for part in written)
            and operation.touches_all(origins)
            and not sees_deleted(users)
            and not any(changes_rows(user) for user in list_users(operations[:index], origins))
            and list_needed_by(users) <= {column.name for column in operation.columns} | list_known(origins).keys()
        ):
            return operation, written
    return None


def list_known(origins: Collection[int]) -> dict[str, str]:
    """Return the SQL of columns that need not be written with live rows of these origins."""
    known = {"_deleted": "FALSE"}
    if len(origins) == 1:
        known["_operation_seq"] = f"{next(iter(origins))}L"
    return known


def list_users(operations: Sequence[AnyOperation], origins: Collection[int]) -> list[AnyOperation]:
    """Return the operations that may touch rows of these origins."""
    return [operation for operation in operations if operation.may_touch(origins)]


def changes_rows(operation: Operation) -> bool:
    """Return whether an operation changes working rows."""
    return isinstance(operation, UpdateOperation | DeleteOperation)

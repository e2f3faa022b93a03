"""update: new values for the touched rows, all computed from the values before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.sql import TOUCHED_COLUMN, WORKING, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import UpdateOperation
    from spark_jobs.rows.flags import Flags
    from spark_jobs.rows.joins import TouchedRows
    from spark_jobs.rows.working import Part


def update_rows(rows: TouchedRows, operation: UpdateOperation, timestamp: str, flags: Flags, part: Part) -> DataFrame:
    """Return all rows, the touched ones with their assigned values and the time of the update."""
    flag = rows.touched
    columns, replaced = list(flags.columns), [*rows.helpers, *flags.replaced]
    frame = rows.frame
    if operation.group_steps:
        frame = add_group_columns(rows, operation)
        replaced += [TOUCHED_COLUMN, *(column.column for step in operation.group_steps for column in step)]
    for assignment in operation.assignments:
        name = quote_name(assignment.column)
        if assignment.column in part.columns:
            replaced.append(assignment.column)
            before = f"`@w`.{name}"
        else:
            before = f"CAST(NULL AS {assignment.type})"
        columns.append(f"IF({flag}, {assignment.sql}, {before}) AS {name}")
    replaced.append("_updated_at")
    columns.append(f"IF({flag}, {timestamp}, `@w`.`_updated_at`) AS `_updated_at`")
    dropped = ", ".join(quote_name(name) for name in replaced)
    return frame.alias(WORKING).selectExpr(f"* EXCEPT ({dropped})", *columns)


def add_group_columns(rows: TouchedRows, operation: UpdateOperation) -> DataFrame:
    """Return the rows with what assignments read of groups; one shuffle serves all groups of the same keys."""
    frame = rows.frame.alias(WORKING).selectExpr("*", f"{rows.touched} AS {quote_name(TOUCHED_COLUMN)}")
    for step in operation.group_steps:
        columns = [f"{column.sql} AS {quote_name(column.column)}" for column in step]
        frame = frame.alias(WORKING).selectExpr("*", *columns)
    return frame

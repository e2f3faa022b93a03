"""update: new values for the touched rows, all computed from the values before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.columns import quote_name
from spark_jobs.working import WORKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.joins import TouchedRows
    from spark_jobs.snapshot import UpdateOperation


def matched_flags(rows: TouchedRows, seq: int) -> tuple[str, ...]:
    """Names of the columns that say whether a join matched: counted, so that every join is computed, used or not."""
    return tuple(f"@m{seq}{alias}" for alias in rows.aliases)


def update_rows(rows: TouchedRows, operation: UpdateOperation, timestamp: str) -> DataFrame:
    """Return all rows, the touched ones with their assigned values and the time of the update."""
    frame = rows.frame
    present = set(frame.columns)
    flag = rows.touched
    columns, replaced = [*rows.flag_column], list(rows.aliases)
    for assignment in operation.assignments:
        name = quote_name(assignment.column)
        if assignment.column in present:
            replaced.append(assignment.column)
            before = f"`@w`.{name}"
        else:
            before = f"CAST(NULL AS {assignment.type})"
        columns.append(f"CASE WHEN {flag} THEN {assignment.sql} ELSE {before} END AS {name}")
    replaced.append("_updated_at")
    columns.append(f"CASE WHEN {flag} THEN {timestamp} ELSE `@w`.`_updated_at` END AS `_updated_at`")
    columns.extend(
        f"`@w`.{quote_name(alias)} IS NOT NULL AS {quote_name(name)}"
        for alias, name in zip(rows.aliases, matched_flags(rows, operation.seq), strict=True)
    )
    dropped = ", ".join(quote_name(name) for name in replaced)
    return frame.alias(WORKING).selectExpr(f"* EXCEPT ({dropped})", *columns)

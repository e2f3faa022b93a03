"""delete: marks the touched rows; they stay, and no later operation sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.sql import WORKING, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.rows.flags import Flags
    from spark_jobs.rows.joins import TouchedRows


def delete_rows(rows: TouchedRows, timestamp: str, flags: Flags) -> DataFrame:
    """Return all rows, the touched ones marked as deleted."""
    flag = rows.touched
    dropped = ", ".join(quote_name(name) for name in (*rows.helpers, *flags.replaced, "_deleted", "_updated_at"))
    return rows.frame.alias(WORKING).selectExpr(
        f"* EXCEPT ({dropped})",
        *flags.columns,
        f"IF({flag}, TRUE, `@w`.`_deleted`) AS `_deleted`",
        f"IF({flag}, {timestamp}, `@w`.`_updated_at`) AS `_updated_at`",
    )

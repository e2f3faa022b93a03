"""distinct: one row of those that are equal in all their columns but system columns, the one with the smallest id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.system_columns import SYSTEM_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REST = "@rest"


def drop_repeated(frame: DataFrame, columns: Sequence[str], first_by: str) -> DataFrame:
    """Return these columns of the rows, of equal ones that with the smallest value of the column `first_by`."""
    keys = [quote_name(name) for name in columns if name not in SYSTEM_TYPES and name != first_by]
    rest = list(dict.fromkeys(name for name in (first_by, *columns) if quote_name(name) not in keys))
    if not set(rest) & set(columns):
        return frame.select(*keys).distinct()
    # The least struct is that of the smallest id: no window, which would sort all rows.
    packed = frame.selectExpr(*keys, f"struct({', '.join(map(quote_name, rest))}) AS `{REST}`")
    first = packed.groupBy(*keys).agg(functions.expr(f"min(`{REST}`)").alias(REST))
    return first.selectExpr(*[f"`{REST}`.{quote_name(name)}" if name in rest else quote_name(name) for name in columns])

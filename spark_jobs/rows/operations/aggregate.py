"""aggregate: one new row a group of the touched rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.sql import WORKING, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import Expression


def group_rows(frame: DataFrame, group_by: Sequence[str], aggregations: Sequence[Expression]) -> DataFrame:
    """Return the groups' keys and aggregated values."""
    keys = [functions.expr(f"`@w`.{quote_name(name)}").alias(name) for name in group_by]
    values = [functions.expr(item.sql).alias(item.column) for item in aggregations]
    return frame.alias(WORKING).groupBy(*keys).agg(*values)

"""append: rows of another dataset, as they come or aggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.sql import WORKING, quote_name
from spark_jobs.rows.operations.aggregate import group_rows
from spark_jobs.rows.operations.distinct import drop_repeated
from spark_jobs.rows.row_ids import POSITION, hash_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.plan import AppendOperation


def read_source_rows(source: DataFrame, operation: AppendOperation, salt: str) -> DataFrame:
    """Return the selected source rows with the working columns that they fill and their position."""
    rows = source
    if operation.where is not None:
        rows = rows.alias(WORKING).where(operation.where)
    position = quote_name(POSITION)
    if operation.aggregations:
        keys = [quote_name(name) for name in operation.group_by]
        grouped = group_rows(rows, operation.group_by, operation.aggregations)
        rows = grouped.selectExpr("*", f"{hash_keys(keys, salt)} AS {position}")
    columns = [f"{item.sql} AS {quote_name(item.column)}" for item in operation.columns]
    filled = rows.alias(WORKING).selectExpr(*columns, f"`@w`.{position} AS {position}")
    if operation.distinct:
        return drop_repeated(filled, [*(item.column for item in operation.columns), POSITION], POSITION)
    return filled

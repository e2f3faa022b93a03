"""append: rows of another dataset, as they come, aggregated, or paired with working rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions
from pyspark.sql.functions import broadcast

from spark_jobs.contract.sql import WORKING, name_alias, quote_name
from spark_jobs.rows.operations.aggregate import group_rows
from spark_jobs.rows.operations.distinct import drop_repeated
from spark_jobs.rows.row_ids import POSITION, hash_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import AppendOperation, Expand
    from spark_jobs.rows.joins import TouchedRows


def read_source_rows(source: DataFrame, operation: AppendOperation, salt: str) -> DataFrame:
    """Return the selected source rows, grouped if there is an aggregation, with their position."""
    rows = source
    if operation.where is not None:
        rows = rows.alias(WORKING).where(operation.where)
    if not operation.aggregations:
        return rows
    keys = [quote_name(name) for name in operation.group_by]
    grouped = group_rows(rows, operation.group_by, operation.aggregations)
    return grouped.selectExpr("*", f"{hash_keys(keys, salt)} AS {quote_name(POSITION)}")


def fill_columns(rows: DataFrame, operation: AppendOperation) -> DataFrame:
    """Return the working columns that source rows fill, and their position."""
    return _fill(rows.alias(WORKING), operation, f"`@w`.{quote_name(POSITION)}")


def pair_rows(
    touched: TouchedRows, source: DataFrame, operation: AppendOperation, expand: Expand, salt: str, *, is_small: bool
) -> DataFrame:
    """Return the working columns that pairs of a working row and a source row fill, and their position."""
    alias = quote_name(name_alias(expand.alias))
    rows = touched.frame.alias(WORKING).where(touched.touched).alias(WORKING)
    right = (broadcast(source) if is_small else source).alias(name_alias(expand.alias))
    pairs = rows.join(right, functions.expr(expand.condition), "inner")
    keys = [f"{alias}.{quote_name(POSITION)}", "`@w`.`_row_id`"]
    return _fill(pairs, operation, hash_keys(keys, salt))


def _fill(rows: DataFrame, operation: AppendOperation, position: str) -> DataFrame:
    columns = [f"{item.sql} AS {quote_name(item.column)}" for item in operation.columns]
    filled = rows.selectExpr(*columns, f"{position} AS {quote_name(POSITION)}")
    if operation.distinct:
        return drop_repeated(filled, [*(item.column for item in operation.columns), POSITION], POSITION)
    return filled

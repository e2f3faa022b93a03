"""Rows that a snapshot carries itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from spark_jobs.contract.sql import quote_name
from spark_jobs.rows.row_ids import POSITION
from spark_jobs.sources.raw_rows import RawRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.tables import Location


def read_memory(spark: SparkSession, location: Location, ordinal: int) -> RawRows:
    """Return the rows of a location as texts, numbered in their order; one literal, whatever their number."""
    names = [f"c{index}" for index in range(len(location.columns))]
    row = StructType([StructField(name, StringType()) for name in names])
    text = json.dumps([dict(zip(names, values, strict=True)) for values in location.rows], ensure_ascii=False)
    parsed = functions.from_json(functions.lit(text), ArrayType(row), {"mode": "FAILFAST"})
    frame = spark.range(1).select(functions.posexplode(parsed).alias(POSITION, "row"))
    columns = [f"`row`.`{name}` AS {quote_name(column)}" for name, column in zip(names, location.columns, strict=True)]
    return RawRows(
        frame.selectExpr(f"`{POSITION}`", *columns),
        location,
        is_text=True,
        position=f"{ordinal << 40}L + `{POSITION}`",
        is_small=True,
    )

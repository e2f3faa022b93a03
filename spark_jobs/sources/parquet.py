"""Parquet files whose schema Spark cannot take whole, because of columns that are not declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StructField, StructType

from spark_jobs.sources.raw_rows import ColumnMismatchError
from spark_jobs.sources.read_errors import NANOSECONDS, NANOSECONDS_HINT, TYPE_HINT
from spark_jobs.spark.jvm import is_connect
from spark_jobs.spark.parquet_footers import describe_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.tables import Location
    from spark_jobs.sources.columns import Wanted

_UNKNOWN_TYPES = ("PARQUET_TYPE", "DECIMAL_PRECISION_EXCEEDS", "UNSUPPORTED_TIME_TYPE")
_one_at_a_time = Lock()
"""Tables are opened side by side, and the setting below is the session's."""


def read_parquet(
    spark: SparkSession, location: Location, options: Mapping[str, str], wanted: tuple[Wanted, ...]
) -> DataFrame:
    """Return the rows of Parquet files; types that Spark does not know are refused where their columns are wanted."""
    reader = spark.read.format("parquet").options(**options)
    try:
        return reader.load(location.uri)
    except PySparkException as error:
        if not (error.getCondition() or "").startswith(_UNKNOWN_TYPES):
            raise
        if not is_connect(spark):
            file = min(spark.read.format("binaryFile").options(**options).load(location.uri).inputFiles())
            return reader.schema(_pick_readable(spark, unquote(file), wanted)).load(location.uri)
        if "NANOS" not in str(error):
            raise
    with _nanoseconds_as_numbers(spark):
        fields = {field.name: field for field in reader.load(location.uri).schema.fields}
    needed = [column for column in wanted if column.name in fields]
    unknown = [
        column.name
        for column in needed
        if isinstance(fields[column.name].dataType, LongType) and column.type in ("timestamp", "date")
    ]
    if unknown:
        raise ColumnMismatchError(dict.fromkeys(unknown, NANOSECONDS), NANOSECONDS_HINT)
    return reader.schema(StructType([fields[column.name] for column in needed])).load(location.uri)


def _pick_readable(spark: SparkSession, file: str, wanted: tuple[Wanted, ...]) -> StructType:
    """Return the schema of the wanted columns that a file has."""
    found = describe_parquet(spark, file, [column.name for column in wanted])
    unknown = {name: kind for name, (kind, spark_type) in found.items() if spark_type is None}
    if any("NANOS" in kind for kind in unknown.values()):
        raise ColumnMismatchError(dict.fromkeys(unknown, NANOSECONDS), NANOSECONDS_HINT)
    if unknown:
        reasons = {name: f"is of the type {kind}, which cannot be read" for name, kind in unknown.items()}
        raise ColumnMismatchError(reasons, TYPE_HINT)
    fields = [StructField.fromJson(spark_type) for _, spark_type in found.values() if spark_type is not None]
    return StructType(fields)


@contextmanager
def _nanoseconds_as_numbers(spark: SparkSession) -> Iterator[None]:
    key = "spark.sql.legacy.parquet.nanosAsLong"
    with _one_at_a_time:
        spark.conf.set(key, "true")
        try:
            yield
        finally:
            spark.conf.unset(key)

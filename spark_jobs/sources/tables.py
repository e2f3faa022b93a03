"""A pinned version of an Iceberg or Delta table: plain Parquet files, and how their columns are to be taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import VERIFIED
from spark_jobs.contract.sql import quote_name, write_literal
from spark_jobs.sources.raw_rows import RawRows
from spark_jobs.sources.seen_files import look_at_files
from spark_jobs.spark.storage import join_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.tables import Column, Location

READABLE_TYPES = frozenset(
    {"string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
    | {"tinyint", "smallint", "int", "bigint", "float", "double"}
)
_MISSING = "PATH_NOT_FOUND"


class MissingVersionError(Exception):
    """A file of the version is gone."""


def read_table(spark: SparkSession, location: Location) -> RawRows:
    """Return the rows of a table's files, with the columns that the table had in this version."""
    columns = [column for column in location.schema if _is_readable(column)]
    if not location.files:
        return RawRows(spark.range(0).selectExpr(*map(_make_null, columns)), location, position="0L", seen_files=())
    stored = {column.name: location.names.get(column.name, column.name) for column in columns}
    schema = ", ".join(
        f"{quote_name(str(stored[column.name]))} {column.type}"
        for column in columns
        if stored[column.name] is not None and column.name not in location.constants
    )
    reader = spark.read.options(**VERIFIED)
    paths = [escape_pattern(join_uri(location.uri, file)) for file in location.files]
    try:
        # Without a column of their own, rows are still as many as the files have.
        frame = (reader.schema(schema) if schema else reader).parquet(*paths)
    except PySparkException as error:
        if _MISSING in (error.getCondition() or ""):
            raise MissingVersionError(location.version) from error
        raise
    files = tuple(frame.inputFiles())
    seen = look_at_files(frame, files)
    return RawRows(_name_columns(frame, location, columns), location, files=files, seen_files=seen)


def _name_columns(frame: DataFrame, location: Location, columns: list[Column]) -> DataFrame:
    if not location.names and not location.constants:
        return frame
    return frame.selectExpr(*_list_values(location, columns))


def _list_values(location: Location, columns: list[Column]) -> Iterator[str]:
    for column in columns:
        name = quote_name(column.name)
        stored = location.names.get(column.name, column.name)
        if column.name in location.constants:
            yield f"{write_literal(location.constants[column.name], column.type)} AS {name}"
        else:
            yield _make_null(column) if stored is None else f"{quote_name(stored)} AS {name}"


def _make_null(column: Column) -> str:
    return f"CAST(NULL AS {column.type}) AS {quote_name(column.name)}"


def _is_readable(column: Column) -> bool:
    return column.type in READABLE_TYPES or column.type.startswith("decimal(")

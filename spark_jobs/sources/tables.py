"""A pinned version of an Iceberg or Delta table: plain Parquet files, and how their columns are to be taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import VERIFIED
from spark_jobs.contract.sql import quote_name, write_literal
from spark_jobs.contract.tables import name_column
from spark_jobs.errors import JobError
from spark_jobs.sources.raw_rows import RawRows
from spark_jobs.sources.seen_files import SeenFile, look_at_files
from spark_jobs.spark.jvm import is_connect
from spark_jobs.spark.parquet_footers import describe_parquet
from spark_jobs.spark.storage import join_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.tables import Column, Location, Table

READABLE_TYPES = frozenset(
    {"string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
    | {"tinyint", "smallint", "int", "bigint", "float", "double"}
)
_MISSING = "PATH_NOT_FOUND"
_UNSIGNED = re.compile(r"INTEGER\(\d+,\s*false\)")
_MOST_FOOTERS = 1000
_WIDER = {"tinyint": "int", "smallint": "int"}
"""Parquet keeps small numbers in 32 bits, of which Spark would cut off what does not fit the smaller types."""


class MissingVersionError(Exception):
    """A file of the version is gone."""


class ReplacedFilesError(Exception):
    """Files of the version do not have the size that the table states."""

    def __init__(self, size: int, stated: int) -> None:
        super().__init__(f"the files of the version have {size} bytes, and {stated} by the table's metadata")
        self.size = size
        self.stated = stated


class HiddenFilesError(Exception):
    """Spark does not read files with such names; the text is one of them."""


def read_table(spark: SparkSession, location: Location) -> RawRows:
    """Return the rows of a table's files, with the columns that the table had in this version."""
    columns = [column for column in location.schema if _is_readable(column)]
    if not location.files:
        return RawRows(spark.range(0).selectExpr(*map(_make_null, columns)), location, position="0L", seen_files=())
    stored = {column.name: location.names.get(column.name, column.name) for column in columns}
    schema = ", ".join(
        f"{quote_name(str(stored[column.name]))} {_WIDER.get(column.type, column.type)}"
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
    if len(files) < len(set(location.files)):
        raise HiddenFilesError(next(filter(_is_hidden, location.files), location.files[0]))
    seen = look_at_files(frame, files)
    _refuse_replaced(location, seen)
    return RawRows(_name_columns(frame, location, columns), location, files=files, seen_files=seen)


def _is_hidden(file: str) -> bool:
    name = file.rpartition("/")[2]
    return name.startswith(("_", ".")) or name.endswith("._COPYING_")


def _refuse_replaced(location: Location, seen: tuple[SeenFile, ...] | None) -> None:
    """Raise ReplacedFilesError when files were replaced under their names; no version of a table does that."""
    if location.bytes is None or seen is None or len(seen) < len(location.files):
        return
    size = sum(file.state.bytes for file in seen)
    if size != location.bytes:
        raise ReplacedFilesError(size, location.bytes)


def find_unsigned(spark: SparkSession, tables: Iterable[Table]) -> JobError | None:
    """Return which column is unsigned in a file: no table has such a type, and Spark fails without naming it."""
    if is_connect(spark):
        return None
    with suppress(OSError):
        for table in tables:
            for location in table.locations:
                if location.kind == "table" and (found := _find_unsigned(spark, table, location)) is not None:
                    return found
    return None


def _find_unsigned(spark: SparkSession, table: Table, location: Location) -> JobError | None:
    declared = {column.name for column in table.columns}
    stored = {location.names.get(column.name) or column.name: column for column in location.schema}
    wanted = [name for name, column in stored.items() if column.name in declared]
    for file in location.files[:_MOST_FOOTERS]:
        for name, (kind, _) in describe_parquet(spark, join_uri(location.uri, file), wanted).items():
            if _UNSIGNED.fullmatch(kind):
                column = stored[name]
                said = f"{file} has unsigned numbers ({kind}), and the table says {column.type}"
                message, hint = f"{name_column(table, column.name)}: {said}", "rewrite it with the table's own types"
                return JobError("DATA_002", message, hint=hint, mark=table.mark, column=column.name)
    return None


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

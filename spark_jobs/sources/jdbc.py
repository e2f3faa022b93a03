"""Tables of a database, read over JDBC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from spark_jobs.contract.options import drop_options, get_option, merge_options
from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.tables import parse_decimal
from spark_jobs.sources.columns import MAX_PRECISION, is_readable
from spark_jobs.sources.raw_rows import MissingDataError, RawRows
from spark_jobs.spark.databases import find_driver
from spark_jobs.spark.dialects import STANDARD, find_dialect
from spark_jobs.spark.jvm import list_causes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.tables import Location
    from spark_jobs.sources.columns import Wanted
    from spark_jobs.sources.database_snapshots import DatabaseSnapshots

# PostgreSQL, MySQL, Oracle, SQL Server, SQLite, Derby and H2.
_NO_TABLE = re.compile(
    r"relation \".*\" does not exist|Table '.*' doesn't exist|ORA-00942|Invalid object name|no such table"
    r"|Table/View '.*' does not exist|Table \".*\" not found",
    re.IGNORECASE,
)

DEFAULTS = {
    "preferTimestampNTZ": "true",
    "pushDownPredicate": "true",
    # Without it PostgreSQL's driver takes a whole table into memory, and Oracle's asks for ten rows at a time.
    "fetchsize": "2000",
}
_TIMES = ("date", "timestamp", "timestamp_ntz")


def read_jdbc(
    spark: SparkSession,
    location: Location,
    wanted: Collection[Wanted],
    credentials: Mapping[str, str],
    snapshots: DatabaseSnapshots,
) -> RawRows:
    """Return a table's rows; Spark hands simple predicates and the choice of columns on to the database."""
    schema = get_option(location.options, "schema")
    options = drop_options(location.options, "schema")
    table = f"{schema}.{location.table}" if schema and "." not in (location.table or "") else str(location.table)
    # DriverManager does not see a driver that came with --jars; Spark does, given its name.
    driver = find_driver(get_option(options, "url") or "", options)
    named = {"driver": driver} if driver is not None else {}
    dialect = find_dialect(get_option(options, "url") or "")
    options = merge_options(DEFAULTS, named, options, credentials, dialect.connection_options)
    for name in _list_spellings(get_option(options, "url") or "", table):
        asked = merge_options(options, {"dbtable": name})
        try:
            frame = _load(spark, asked)
        except Exception as error:
            if not any(_NO_TABLE.search(text) for text in list_causes(error)):
                raise
        else:
            texts = _list_texts(frame, wanted, asked)
            changed = {"customSchema": _write_schema(frame, asked, texts)} if texts else {}
            statement = snapshots.join(asked)
            if statement is not None:
                changed["sessionInitStatement"] = statement
            return RawRows(_load(spark, merge_options(asked, changed)) if changed else frame, location, texts=texts)
    raise MissingDataError(table)


def _load(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("jdbc").options(**options).load()


def _list_texts(frame: DataFrame, wanted: Collection[Wanted], options: Mapping[str, str]) -> frozenset[str]:
    """Return the columns whose values are read exactly as texts only.

    Spark rounds numbers to the type that it takes a column for, which is a guess where it has all of 38 digits and a
    wish where the user gave it. Dates and timestamps pass through Java's zone and old calendar, and `infinity` becomes
    a day. A column by which the reading is split has to stay what it is.
    """
    physical = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    split = (get_option(options, "partitionColumn") or "").strip('"`')
    given = _read_schema(options)
    has_plain_times = find_dialect(get_option(options, "url") or "").has_plain_times
    texts = set()
    for column in wanted:
        kind = physical.get(column.name)
        if kind is None or column.name.lower() == split.lower():
            continue
        digits = parse_decimal(kind)
        if digits is None:
            is_text = has_plain_times and kind in _TIMES and is_readable(column.type, kind)
        else:
            is_number = column.type.startswith("decimal") or (column.type == "bigint" and digits[1] == 0)
            is_text = is_number and (digits[0] == MAX_PRECISION or column.name in given)
        if is_text:
            texts.add(column.name)
    return frozenset(texts)


def _read_schema(options: Mapping[str, str]) -> frozenset[str]:
    given = get_option(options, "customSchema")
    schema = StructType.fromDDL(given) if given else None
    return frozenset(schema.names) if isinstance(schema, StructType) else frozenset()


def _write_schema(frame: DataFrame, options: Mapping[str, str], texts: frozenset[str]) -> str:
    """Return the schema that the user gave, with texts in place of some columns' types."""
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    kinds = {name: kinds[name] for name in _read_schema(options) if name in kinds} | dict.fromkeys(texts, "string")
    return ", ".join(f"{quote_name(name)} {kind}" for name, kind in sorted(kinds.items()))


def _list_spellings(url: str, table: str) -> tuple[str, ...]:
    """Return how a table is asked for: first as outputs write it, then as the database reads a name without quotes.

    An unknown database is asked without quotes first: what it says of a missing table may not be understood.
    """
    dialect = find_dialect(url)
    quoted = dialect.quote_full_name(table)
    return (table, quoted) if dialect is STANDARD else (quoted, table)

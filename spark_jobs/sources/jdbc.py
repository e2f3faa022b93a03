"""Tables of a database, read over JDBC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spark_jobs.dialects import STANDARD, find_dialect
from spark_jobs.jvm import find_driver, list_causes
from spark_jobs.options import drop_options, get_option, merge_options
from spark_jobs.sources.relation import MissingDataError, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from spark_jobs.snapshot import Location

# PostgreSQL, MySQL, Oracle, SQL Server, SQLite, Derby and H2.
_NO_TABLE = re.compile(
    r"relation \".*\" does not exist|Table '.*' doesn't exist|ORA-00942|Invalid object name|no such table"
    r"|Table/View '.*' does not exist|Table \".*\" not found",
    re.IGNORECASE,
)


def read_jdbc(spark: SparkSession, location: Location, credentials: Mapping[str, str]) -> Relation:
    """Return a table's rows; Spark hands simple predicates and the choice of columns on to the database."""
    schema = get_option(location.options, "schema")
    options = drop_options(location.options, "schema")
    table = f"{schema}.{location.table}" if schema and "." not in (location.table or "") else str(location.table)
    # DriverManager does not see a driver that came with --jars; Spark does, when it is told the name.
    driver = find_driver(get_option(options, "url") or "", options)
    named = {"driver": driver} if driver is not None else {}
    defaults = {"preferTimestampNTZ": "true", "pushDownPredicate": "true", **named}
    options = merge_options(defaults, options, credentials)
    for name in _list_spellings(get_option(options, "url") or "", table):
        try:
            frame = spark.read.format("jdbc").options(**merge_options(options, {"dbtable": name})).load()
        except Exception as error:
            if not any(_NO_TABLE.search(text) for text in list_causes(error)):
                raise
        else:
            return Relation(frame, location)
    raise MissingDataError(table)


def _list_spellings(url: str, table: str) -> tuple[str, ...]:
    """Return how a table is asked for: first as outputs write it, then as the database reads a name without quotes.

    A database that nobody knows is asked without quotes first: what it says of a missing table may not be understood.
    """
    dialect = find_dialect(url)
    quoted = dialect.quote_full_name(table)
    return (table, quoted) if dialect is STANDARD else (quoted, table)

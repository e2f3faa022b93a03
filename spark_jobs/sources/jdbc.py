"""Tables of a database, read over JDBC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
    options = merge_options(defaults, options, credentials, {"dbtable": table})
    try:
        return Relation(spark.read.format("jdbc").options(**options).load(), location)
    except Exception as error:
        if any(_NO_TABLE.search(text) for text in list_causes(error)):
            raise MissingDataError(table) from error
        raise

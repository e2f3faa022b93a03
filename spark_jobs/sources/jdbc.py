"""Tables of a database, read over JDBC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.sources.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from spark_jobs.snapshot import Location


def read_jdbc(spark: SparkSession, location: Location, credentials: Mapping[str, str]) -> Relation:
    """Return a table's rows; Spark hands simple predicates and the choice of columns on to the database."""
    options = dict(location.options)
    schema = options.pop("schema", None)
    table = f"{schema}.{location.table}" if schema and "." not in (location.table or "") else str(location.table)
    options = {"preferTimestampNTZ": "true", "pushDownPredicate": "true", **options, **credentials, "dbtable": table}
    return Relation(spark.read.format("jdbc").options(**options).load(), location)

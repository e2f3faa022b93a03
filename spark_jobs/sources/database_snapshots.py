"""One consistent snapshot of a database for everything that a run reads there.

Spark asks for each part of a table, and for each use of it, in a transaction of its own. While another session replaces
a period, some would see the old rows and others the new ones. Where a database can export a snapshot, a transaction of
the driver holds one as long as the run reads, and every session of Spark reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from spark_jobs.contract.options import drop_options, get_option
from spark_jobs.credentials import Credentials
from spark_jobs.errors import JobError
from spark_jobs.spark.databases import Database, DatabaseError, connect_database
from spark_jobs.spark.dialects import find_dialect
from spark_jobs.spark.jvm import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_SUPPORTED = {"0A000", "42883"}
"""Servers that speak PostgreSQL's language without its snapshots."""


@dataclass(slots=True)
class DatabaseSnapshots:
    """The snapshots at which a run's databases are read."""

    spark: SparkSession
    is_needed: bool = True
    """Whether anybody else may change what is read."""
    _held: dict[tuple[str, str | None], tuple[Database, str | None]] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def join(self, options: Mapping[str, str]) -> str | None:
        """Return what a reader's session says first to read the snapshot; None where a database exports none."""
        url = get_option(options, "url") or ""
        dialect = find_dialect(url)
        if not self.is_needed or not dialect.export_snapshot_sql or is_connect(self.spark):
            return None
        with self._one_at_a_time:
            user = get_option(options, "user")
            if (url, user) not in self._held:
                self._held[url, user] = self._export(url, user, options, dialect.export_snapshot_sql)
            name = self._held[url, user][1]
        return None if name is None else dialect.import_snapshot_sql.format(name)

    def close(self) -> None:
        """End the transactions that hold the snapshots."""
        for database, _ in self._held.values():
            database.close()
        self._held.clear()

    def _export(
        self, url: str, user: str | None, options: Mapping[str, str], export_sql: Sequence[str]
    ) -> tuple[Database, str | None]:
        credentials = Credentials(user, get_option(options, "password"))
        database: Database | None = None
        try:
            database = connect_database(self.spark, url, drop_options(options, "user", "password"), credentials)
            for statement in export_sql[:-1]:
                database.execute(statement)
            return database, str(database.query(export_sql[-1])[0][0])
        except DatabaseError as error:
            if database is not None and error.state in _NOT_SUPPORTED:
                return database, None
            if database is not None:
                database.close()
            message = f"no consistent snapshot of the database {url.partition('?')[0]} could be taken: {error}"
            raise JobError("INFRA_001", message, hint="run it again") from None

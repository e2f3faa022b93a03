"""One moment of a database for everything that a run reads there.

Spark asks for each part of a table, and for each use of it, in a transaction of its own. While another session replaces
a period, some would see the old rows and others the new ones. A database that can show several sessions the same moment
is held at one by a transaction of the driver, which is open as long as the run reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from spark_jobs.contract.options import drop_options, get_option
from spark_jobs.credentials import Credentials
from spark_jobs.errors import JobError
from spark_jobs.spark.dialects import find_dialect
from spark_jobs.spark.jvm import Database, DatabaseError, connect_database, is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_SUPPORTED = {"0A000", "42883"}
"""Servers that speak PostgreSQL's language without its snapshots."""


@dataclass(slots=True)
class Moments:
    """The moments at which a run's databases are read."""

    spark: SparkSession
    is_needed: bool = True
    """Whether anybody else may change what is read."""
    _held: dict[tuple[str, str | None], tuple[Database, str | None]] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def join(self, options: Mapping[str, str]) -> str | None:
        """Return what a reader's session says first to see the moment; None where a database has no such thing."""
        url = get_option(options, "url") or ""
        dialect = find_dialect(url)
        if not self.is_needed or not dialect.moment_sql or is_connect(self.spark):
            return None
        with self._one_at_a_time:
            user = get_option(options, "user")
            if (url, user) not in self._held:
                self._held[url, user] = self._hold(url, user, options, dialect.moment_sql)
            moment = self._held[url, user][1]
        return None if moment is None else dialect.join_moment_sql.format(moment)

    def close(self) -> None:
        """Let the databases go on."""
        for database, _ in self._held.values():
            database.close()
        self._held.clear()

    def _hold(
        self, url: str, user: str | None, options: Mapping[str, str], moment_sql: Sequence[str]
    ) -> tuple[Database, str | None]:
        credentials = Credentials(user, get_option(options, "password"))
        database: Database | None = None
        try:
            database = connect_database(self.spark, url, drop_options(options, "user", "password"), credentials)
            for statement in moment_sql[:-1]:
                database.execute(statement)
            return database, str(database.query(moment_sql[-1])[0][0])
        except DatabaseError as error:
            if database is not None and error.state in _NOT_SUPPORTED:
                return database, None
            if database is not None:
                database.close()
            message = f"the database {url.partition('?')[0]} cannot be held at one moment: {error}"
            raise JobError("INFRA_001", message, hint="run it again") from None

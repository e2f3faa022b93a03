"""A database table as an output's destination: names, connections, and how its failures are reported."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spark_jobs.contract.options import get_option, merge_options
from spark_jobs.contract.own_tables import LEDGER, STAGE_PREFIX, is_own_table
from spark_jobs.credentials import Credentials
from spark_jobs.errors import JobError
from spark_jobs.redaction import redact
from spark_jobs.sinks.attempts import Attempt
from spark_jobs.spark.databases import Database, DatabaseError, MissingDriverError, connect_database
from spark_jobs.spark.dialects import Dialect, find_dialect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.operations import OutputOperation

_VALUE_STATES = ("22", "23")
"""SQL's classes of states for data that do not fit, and for constraints that they violate."""
# As PostgreSQL, MySQL, SQL Server, Oracle and Db2 say it where Spark gives no state.
_VALUE_REFUSED = re.compile(
    r"invalid byte sequence|field overflow|value too long|out of range|violates [\w -]*constraint"
    r"|Data too long|Data truncat|Out of range value|Incorrect \w+ value|cannot be null|Duplicate entry"
    r"|would be truncated|Arithmetic overflow|Cannot insert the value NULL|Violation of [A-Z ]*constraint"
    r"|ORA-(?:00001|01400|01438|12899|02290|02291)\b|SQLSTATE=2[23]",
    re.IGNORECASE,
)


_TYPE_STATES = ("42804", "42846", "42883", "42703", "42S22", "42821")
"""States, most of them PostgreSQL's, of columns that are missing or of types that values of others cannot enter."""
_TYPE_REFUSED = re.compile(r"Operand type clash|Implicit conversion from data type|ORA-(?:00932|00904)\b")


@dataclass(frozen=True)
class JdbcTarget:
    """The table that an output publishes to, and who asks."""

    spark: SparkSession
    output: OutputOperation
    attempt: Attempt
    periods: tuple[str, ...]
    """Values of `_period` that this run replaces: its own, and those of the finer periods it was read from."""
    read_credentials: Callable[[], Credentials]
    found_schema: str | None = None
    """Where a name without a schema leads to, when that is not where new tables go."""

    @property
    def url(self) -> str:
        """The JDBC URL."""
        return get_option(self.output.destination.options, "url") or ""

    @property
    def dialect(self) -> Dialect:
        """The database's dialect."""
        return find_dialect(self.url)

    @property
    def schema(self) -> str | None:
        """The schema, when the table's name has one or leads to one; the ledger and stage tables are there too."""
        head, dot, _ = self._table.partition(".")
        return head if dot else self.found_schema

    @property
    def name(self) -> str:
        """The table's own name."""
        return self._table.partition(".")[2] or self._table

    @property
    def _table(self) -> str:
        table = self.output.destination.table
        if table is None:
            raise JobError("OUTPUT_002", "a JDBC destination names no table", mark=self.output.mark)
        if is_own_table(table):
            message = f"the table '{table}' is one of those in which runs keep what they stage and publish"
            raise JobError("OUTPUT_002", message, hint="write to a table of another name", mark=self.output.mark)
        return table

    @property
    def table(self) -> str:
        """The target, quoted."""
        return self.dialect.quote_table(self.schema, self.name)

    @property
    def ledger(self) -> str:
        """The ledger, quoted."""
        return self.dialect.quote_table(self.schema, LEDGER)

    @property
    def stage_prefix(self) -> str:
        """What the names of all stage tables of this table, project and period begin with."""
        key = "\0".join([self.name, self.attempt.project_id, self.attempt.period])
        return f"{STAGE_PREFIX}{hashlib.sha256(key.encode()).hexdigest()[:10]}_"

    @property
    def stage_name(self) -> str:
        """Name of this attempt's stage table."""
        return f"{self.stage_prefix}{self.attempt.token}_{self.attempt.nonce}"

    @property
    def stage(self) -> str:
        """This attempt's stage table, quoted."""
        return self.dialect.quote_table(self.schema, self.stage_name)

    @property
    def columns(self) -> str:
        """The output's columns, quoted."""
        return ", ".join(self.dialect.quote(column.name) for column in self.output.columns)

    @property
    def typed_columns(self) -> str:
        """The output's columns, quoted, each with the type that holds it exactly."""
        dialect = self.dialect
        return ", ".join(
            f"{dialect.quote(column.name)} {dialect.get_type(column.type)}" for column in self.output.columns
        )

    def resolve(self, database: Database) -> JdbcTarget:
        """Return this target in the schema where the database finds its table."""
        sql = self.dialect.schema_sql
        found = database.query(sql, self.table) if sql is not None and self.schema is None else []
        return replace(self, found_schema=str(found[0][0])) if found else self

    def has_table(self, database: Database, name: str) -> bool:
        """Return whether there is such a table beside the output's."""
        return name in self.find_tables(database, name)

    def find_tables(self, database: Database, prefix: str) -> list[str]:
        """Return the names of the tables beside the output's that begin with a prefix."""
        return database.find_tables(self.schema, prefix, in_catalog=not self.dialect.has_schemas)

    def refuse_unsafe(self, database: Database) -> None:
        """Raise OUTPUT_002 for a table whose changes cannot be taken back."""
        sql = self.dialect.unsafe_table_sql
        found = database.query(sql, self.schema, self.name) if sql is not None else []
        if found:
            message = f"{self.output.destination.display} cannot be replaced in one step: {found[0][0]}"
            hint = "ALTER TABLE … ENGINE = InnoDB, or write to another table"
            raise JobError("OUTPUT_002", message, hint=hint, mark=self.output.mark)

    def create_missing(self, database: Database, name: str, columns: str) -> None:
        """Create a table where it is missing, also when several jobs begin at once, in a transaction of its own."""
        if self.has_table(database, name):
            return
        try:
            table = self.dialect.quote_table(self.schema, name)
            database.execute(f"CREATE TABLE {table} ({columns}){self.dialect.table_suffix}")
            database.commit()
        except DatabaseError:
            # Another job created it at the same time.
            database.rollback()
            if not self.has_table(database, name):
                raise

    def drop_quietly(self, database: Database, name: str) -> None:
        """Drop a table; one that is held by a writer that is not quite dead stays for the next attempt."""
        try:
            database.execute(f"DROP TABLE {self.dialect.quote_table(self.schema, name)}")
            database.commit()
        except DatabaseError:
            database.rollback()

    @contextmanager
    def connect(self) -> Iterator[Database]:
        """Open a connection whose work is dropped unless it was committed."""
        dialect = self.dialect
        options = merge_options(dialect.writer_options, self.output.destination.options, dialect.connection_options)
        database = connect_database(self.spark, self.url, options, self.read_credentials())
        try:
            for sql in self.dialect.session_sql:
                database.execute(sql)
            database.commit()
            yield database
        except BaseException:
            with contextlib.suppress(DatabaseError):
                database.rollback()
            raise
        finally:
            database.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the database says into an error of this output."""
        try:
            yield
        except MissingDriverError as failure:
            message = f"writing to {self.output.destination.display} is not possible: {failure}"
            hint = (
                "put the driver's jar on Spark's `--jars` (spark.jars), or name its class: datasource option `driver`"
            )
            raise JobError("OUTPUT_002", message, hint=hint, mark=self.output.mark) from None
        except DatabaseError as failure:
            if is_about_values(str(failure), failure.state):
                raise make_value_error(self.output, str(failure)) from None
            if failure.state in _TYPE_STATES or _TYPE_REFUSED.search(str(failure)) is not None:
                raise self.make_misfit_error(str(failure)) from None
            raise self.make_error(str(failure)) from None

    def make_misfit_error(self, reason: str, hint: str = "change the table's columns, or the output's") -> JobError:
        """Return the error of a table that cannot hold the output's columns, however often it is tried."""
        message = f"{self.output.destination.display} does not fit the output: {redact(reason).strip()}"
        return JobError("OUTPUT_002", message, hint=hint, mark=self.output.mark)

    def make_error(self, reason: str, hint: str = "run it again: what was published already is found") -> JobError:
        """Return the error of a write that did not happen."""
        return JobError(
            "OUTPUT_003",
            f"writing to {self.output.destination.display} failed: {redact(reason).strip()}",
            hint=hint,
            mark=self.output.mark,
        )


def is_about_values(reason: str, state: str | None = None) -> bool:
    """Return whether a database refuses the rows for what they hold, so that a retry is refused as well."""
    return (state or "").startswith(_VALUE_STATES) or _VALUE_REFUSED.search(reason) is not None


def make_value_error(output: OutputOperation, reason: str) -> JobError:
    """Return the error of rows that their destination cannot hold."""
    message = f"{output.destination.display} does not take a value that is written to it: {redact(reason).strip()}"
    hint = "correct the value, or write to columns that hold it; see the table's types and constraints"
    return JobError("DATA_003", message, hint=hint, mark=output.mark)

"""Connections to databases: JDBC, from the driver's JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from spark_jobs.contract.options import get_option
from spark_jobs.credentials import Credentials
from spark_jobs.redaction import redact
from spark_jobs.spark.jvm import Py4JJavaError, get_java, translate_java_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SqlValue = str | int | Decimal | date | datetime | None

DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
}

# Options that are Spark's own; all others are the driver's connection properties.
_SPARK_OPTIONS = frozenset(
    {"url", "dbtable", "query", "driver", "numpartitions", "batchsize", "fetchsize", "isolationlevel", "truncate"}
    | {"partitioncolumn", "lowerbound", "upperbound", "sessioninitstatement", "querytimeout", "createtableoptions"}
    | {"customschema", "prefertimestampntz", "pushdownpredicate"}
)


class DatabaseError(Exception):
    """A database refused or lost a statement; `state` is SQL's own code for why."""

    def __init__(self, message: str, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state


class MissingDriverError(DatabaseError):
    """The class of a JDBC driver is not there; `driver` is its name where it is known."""

    def __init__(self, driver: str | None) -> None:
        super().__init__(f"the JDBC driver {driver} is not there" if driver else "no JDBC driver takes the URL")


class Database:
    """A JDBC connection of the driver process, inside a transaction until `commit` or `rollback`."""

    def __init__(self, spark: SparkSession, connection: Any) -> None:
        self._java = get_java(spark)
        self._connection = connection
        committed = self._java.java.sql.Connection.TRANSACTION_READ_COMMITTED
        with _as_database_errors():
            if connection.getMetaData().supportsTransactionIsolationLevel(committed):
                connection.setTransactionIsolation(committed)
            connection.setAutoCommit(False)

    def execute(self, sql: str, *values: SqlValue) -> int:
        """Run a statement and return the number of rows it touched."""
        with _as_database_errors(), self._prepare(sql, values) as statement:
            return int(statement.executeUpdate())

    def query(self, sql: str, *values: SqlValue) -> list[tuple[Any, ...]]:
        """Return the rows of a small query, numbers and texts only."""
        with _as_database_errors(), self._prepare(sql, values) as statement:
            found = statement.executeQuery()
            width = range(1, found.getMetaData().getColumnCount() + 1)
            rows = []
            while found.next():
                rows.append(tuple(_to_python(found.getObject(index)) for index in width))
            return rows

    def describe(self, table: str) -> dict[str, tuple[int, int, int]]:
        """Return a table's columns with JDBC's number of their type, precision and scale; `table` is quoted already."""
        with _as_database_errors(), self._prepare(f"SELECT * FROM {table} WHERE 1 = 0", ()) as statement:
            about = statement.executeQuery().getMetaData()
            return {
                about.getColumnName(i): (about.getColumnType(i), about.getPrecision(i), about.getScale(i))
                for i in range(1, about.getColumnCount() + 1)
            }

    def find_tables(self, schema: str | None, prefix: str, *, in_catalog: bool = False) -> list[str]:
        """Return the names of a schema's tables (the default schema's without one) that begin with a prefix.

        With `in_catalog` a schema is what JDBC calls a catalog.
        """
        with _as_database_errors():
            about = self._connection.getMetaData()
            if in_catalog:
                catalog, place = schema or self._connection.getCatalog(), None
            else:
                catalog = self._connection.getCatalog()
                place = schema if schema is not None else self._connection.getSchema()
            found = about.getTables(catalog, place, "%", None)
            names = []
            while found.next():
                # The schema was taken for a pattern. Databases without schemas report none.
                if place is None or found.getString("TABLE_SCHEM") in (None, place):
                    names.append(str(found.getString("TABLE_NAME")))
            found.close()
            return [name for name in names if name.startswith(prefix)]

    def commit(self) -> None:
        """End the transaction and keep its work."""
        with _as_database_errors():
            self._connection.commit()

    def rollback(self) -> None:
        """End the transaction and drop its work."""
        with _as_database_errors():
            self._connection.rollback()

    def close(self) -> None:
        """Give the connection back; a connection that is gone already is fine."""
        try:
            self._connection.close()
        except Py4JJavaError:
            return

    @contextmanager
    def _prepare(self, sql: str, values: Sequence[SqlValue]) -> Iterator[Any]:
        statement = self._connection.prepareStatement(sql)
        try:
            for index, value in enumerate(values, start=1):
                _bind(self._java, statement, index, value)
            yield statement
        finally:
            statement.close()


def connect_database(spark: SparkSession, url: str, options: Mapping[str, str], credentials: Credentials) -> Database:
    """Open a connection from the driver; options are those of a reader or writer of Spark."""
    java = get_java(spark)
    properties = java.java.util.Properties()
    for name, value in {**options, **credentials.options}.items():
        if name.lower() not in _SPARK_OPTIONS:
            properties.setProperty(name, value)
    if credentials.user is not None:
        properties.setProperty("user", credentials.user)
    if credentials.password is not None:
        properties.setProperty("password", credentials.password)
    driver = find_driver(url, options)

    def explain(cause: Any) -> Exception:
        return MissingDriverError(driver) if is_missing_driver(str(cause.toString())) else _make_database_error(cause)

    with translate_java_errors(explain):
        # DriverManager does not see a driver that came with --jars until Spark has wrapped it.
        if driver is not None:
            java.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(driver)
        return Database(spark, java.java.sql.DriverManager.getConnection(url, properties))


def is_missing_driver(text: str) -> bool:
    """Return whether what the JVM says means that the class of a driver is not there."""
    return "ClassNotFoundException" in text or "NoClassDefFoundError" in text or "No suitable driver" in text


def find_driver(url: str, options: Mapping[str, str]) -> str | None:
    """Return the class name of the driver for a JDBC URL: the one asked for, else the usual one."""
    return get_option(options, "driver") or DRIVERS.get(url.removeprefix("jdbc:").split(":", 1)[0])


def _bind(java: Any, statement: Any, index: int, value: SqlValue) -> None:
    if value is None:
        statement.setNull(index, java.java.sql.Types.VARCHAR)
    elif isinstance(value, int):
        # py4j sends small numbers as int and large ones as long; one statement must always see one type.
        statement.setBigDecimal(index, java.java.math.BigDecimal(str(value)))
    else:
        statement.setString(index, str(value))


def _to_python(value: Any) -> Any:
    if value is None or isinstance(value, str | int | bool | Decimal):
        return value
    return str(value)


@contextmanager
def _as_database_errors() -> Iterator[None]:
    with translate_java_errors(_make_database_error):
        yield


def _make_database_error(cause: Any) -> Exception:
    state = cause.getSQLState() if _is_sql_exception(cause) else None
    message = str(cause.getMessage() or cause.getClass().getSimpleName())
    return DatabaseError(redact(message), state)


def _is_sql_exception(cause: Any) -> bool:
    kind = cause.getClass()
    while kind is not None:
        if kind.getName() == "java.sql.SQLException":
            return True
        kind = kind.getSuperclass()
    return False

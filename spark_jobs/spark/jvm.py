"""The one place that reaches into the JVM of the driver: Hadoop's file systems, Parquet footers, and JDBC connections.

On Spark Connect there is no such JVM: files are reached if both sides see the same folders, and databases are refused.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import get_option
from spark_jobs.credentials import Credentials
from spark_jobs.errors import JobError
from spark_jobs.redaction import redact
from spark_jobs.spark.storage import PARQUET_TAIL, Entry, get_data_length, join_uri, split_uri

try:
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
except ModuleNotFoundError:
    # pyspark-client, for Spark Connect alone, comes without it, and nothing raises these then.
    Py4JError = Py4JJavaError = type("Py4JError", (Exception,), {})


if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


_FILE_STATUS = re.compile(
    r"Status\{path=(?P<path>[^\n]*?); isDirectory=false; length=(?P<size>\d+);"
    r"[^\n]*?modification_time=(?P<millis>\d+);(?:[^\n]*?eTag='(?P<tag>[^']*)')?"
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


def count_parquet_rows(spark: SparkSession, uri: str) -> int:
    """Return the number of rows of one Parquet file, as its footer says."""
    if is_connect(spark):
        # Spark answers this from the footer as well.
        return spark.read.parquet(escape_pattern(uri)).count()
    with _open_parquet(spark, uri) as reader:
        return int(reader.getRecordCount())


def count_parquet_nulls(spark: SparkSession, uri: str, columns: Sequence[str]) -> dict[str, int] | None:
    """Return in how many rows of one Parquet file each column is NULL; None when its footer does not say."""
    if is_connect(spark):
        return None
    totals = dict.fromkeys(columns, 0)
    with _open_parquet(spark, uri) as reader:
        for block in reader.getFooter().getBlocks():
            for chunk in block.getColumns():
                name = chunk.getPath().toDotString()
                if name not in totals:
                    continue
                statistics = chunk.getStatistics()
                if statistics is None or not statistics.isNumNullsSet():
                    return None
                totals[name] += int(statistics.getNumNulls())
    return totals


def list_listed_files(frame: DataFrame) -> list[tuple[str, int, int, str]]:
    """Return path, size, milliseconds of the last change, and tag of the files that Spark has listed for a frame."""
    index = frame._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()
    return _parse_statuses(str(index.allFiles().mkString("\n")))


def list_folder_files(spark: SparkSession, folder: str) -> list[tuple[str, int, int, str]]:
    """Return the same of the files that are in a folder now."""
    jvm = _get_jvm(spark)
    with _as_os_errors():
        path = jvm.org.apache.hadoop.fs.Path(folder)
        statuses = path.getFileSystem(_get_hadoop_configuration(spark)).listStatusIterator(path)
        found = []
        while statuses.hasNext():
            found.append(str(statuses.next().toString()))
    return _parse_statuses("\n".join(found))


def _parse_statuses(text: str) -> list[tuple[str, int, int, str]]:
    """Read what Hadoop says of files: one text for all, as asking for each number of each file would take long."""
    return [
        (match["path"], int(match["size"]), int(match["millis"]), match["tag"] or "")
        for match in _FILE_STATUS.finditer(text)
    ]


def describe_parquet(
    spark: SparkSession, uri: str, names: Collection[str]
) -> dict[str, tuple[str, dict[str, Any] | None]]:
    """Return of each named column that a Parquet file has its type there, and Spark's field; None if Spark has none."""
    jvm = _get_jvm(spark)
    with _open_parquet(spark, uri) as reader:
        schema = reader.getFooter().getFileMetaData().getSchema()
        conf = spark._jsparkSession.sessionState().conf()
        convert = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter(conf).convert
        found: dict[str, tuple[str, dict[str, Any] | None]] = {}
        for field in schema.getFields():
            name = str(field.getName())
            if name not in names:
                continue
            alone = jvm.org.apache.parquet.schema.MessageType(schema.getName(), [field])
            try:
                converted = json.loads(convert(alone).json())["fields"][0]
            except (Py4JJavaError, PySparkException):
                converted = None
            if converted is not None and str(converted["type"]).startswith("time("):
                # Spark 4.2 has the type, and refuses to read it.
                converted = None
            found[name] = (_describe_parquet_type(field), converted)
        return found


def _describe_parquet_type(field: Any) -> str:
    annotation = field.getLogicalTypeAnnotation()
    if annotation is not None:
        return str(annotation.toString())
    return str(field.asPrimitiveType().getPrimitiveTypeName().toString()) if field.isPrimitive() else "group"


@contextmanager
def _open_parquet(spark: SparkSession, uri: str) -> Iterator[Any]:
    jvm = _get_jvm(spark)
    with _as_os_errors():
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            jvm.org.apache.hadoop.fs.Path(uri), _get_hadoop_configuration(spark)
        )
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            yield reader
        finally:
            reader.close()


class HadoopStorage:
    """Any file system that Hadoop knows."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._jvm = _get_jvm(spark)
        self._configuration = _get_hadoop_configuration(spark)
        self._spark = spark
        with _as_os_errors():
            self._files = self._path(uri).getFileSystem(self._configuration)

    def list(self, uri: str) -> list[Entry]:
        """Return what a folder holds, by name; nothing when there is no such folder."""
        try:
            with _as_os_errors():
                found = list(self._files.listStatus(self._path(uri)))
        except FileNotFoundError:
            return []
        now = time.time()
        entries = [
            Entry(item.getPath().getName(), item.isDirectory(), item.getLen(), now - item.getModificationTime() / 1000)
            for item in found
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def exists(self, uri: str) -> bool:
        """Tell whether there is a file or a folder."""
        with _as_os_errors():
            return bool(self._files.exists(self._path(uri)))

    def is_link(self, uri: str) -> bool:
        """Object stores have no links, and Hadoop has switched off those of HDFS."""
        del uri
        return False

    def make_folder(self, uri: str) -> None:
        """Make a folder and those above it, where they are missing."""
        with _as_os_errors():
            self._files.mkdirs(self._path(uri))

    def move(self, source: str, target: str) -> None:
        """Rename; a target that exists is an error, never replaced or moved into."""
        self._rename(source, target, "NONE")

    def exchange(self, first: str, second: str) -> bool:
        """Hadoop has no such step."""
        del first, second
        return False

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file."""
        with _as_os_errors():
            self._jvm.org.apache.hadoop.fs.FileUtil.copy(
                self._files, self._path(source), self._files, self._path(target), False, self._configuration
            )

    def delete(self, uri: str) -> None:
        """Remove a file or a folder with all it holds; nothing to remove is fine."""
        with _as_os_errors():
            self._files.delete(self._path(uri), True)

    def read_bytes(self, uri: str, limit: int) -> bytes:
        """Return a file's content, of one that is larger than the limit one byte more than that."""
        with _as_os_errors():
            stream = self._files.open(self._path(uri))
            try:
                return bytes(stream.readNBytes(limit + 1))
            finally:
                stream.close()

    def write_bytes(self, uri: str, content: bytes) -> None:
        """Write a file that appears with its whole content or not at all."""
        folder, name = split_uri(uri)
        aside = join_uri(folder, f".{name}.{secrets.token_hex(4)}")
        with _as_os_errors():
            stream = self._files.create(self._path(aside), True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
        self._rename(aside, uri, "OVERWRITE")

    def compute_digest(self, uri: str, *, without_footer: bool = False) -> str | None:
        """Return the checksum that the file system keeps of a file, if it keeps one; S3 has one of whole files only."""
        path = self._path(uri)
        with _as_os_errors():
            checksum = (
                self._files.getFileChecksum(path, self._get_data_length(path))
                if without_footer
                else self._files.getFileChecksum(path)
            )
        return None if checksum is None else str(checksum.toString())

    def _get_data_length(self, path: Any) -> int:
        size = int(self._files.getFileStatus(path).getLen())
        stream = self._files.open(path)
        try:
            stream.seek(max(size - PARQUET_TAIL, 0))
            tail = bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()
        return get_data_length(size, tail)

    def _rename(self, source: str, target: str, mode: str) -> None:
        names = self._jvm.org.apache.hadoop.fs.Options.Rename
        modes = self._spark.sparkContext._gateway.new_array(names, 1)  # type: ignore[union-attr]
        modes[0] = getattr(names, mode)
        with _as_os_errors():
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
                self._files.getUri(), self._configuration
            )
            context.rename(self._path(source), self._path(target), modes)

    def _path(self, uri: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(uri)


class Database:
    """A JDBC connection of the driver process, inside a transaction until `commit` or `rollback`."""

    def __init__(self, spark: SparkSession, connection: Any) -> None:
        self._jvm = _get_jvm(spark)
        self._connection = connection
        committed = self._jvm.java.sql.Connection.TRANSACTION_READ_COMMITTED
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

    def find_tables(self, schema: str | None, prefix: str) -> list[str]:
        """Return the names of a schema's tables (the default schema's without one) that begin with a prefix."""
        with _as_database_errors():
            about = self._connection.getMetaData()
            place = schema if schema is not None else self._connection.getSchema()
            found = about.getTables(self._connection.getCatalog(), place, "%", None)
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
                _bind(self._jvm, statement, index, value)
            yield statement
        finally:
            statement.close()


def connect_database(spark: SparkSession, url: str, options: Mapping[str, str], credentials: Credentials) -> Database:
    """Open a connection from the driver; options are those of a reader or writer of Spark."""
    jvm = _get_jvm(spark)
    properties = jvm.java.util.Properties()
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

    with _translate(explain):
        # DriverManager does not see a driver that came with --jars until Spark has wrapped it.
        if driver is not None:
            jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(driver)
        return Database(spark, jvm.java.sql.DriverManager.getConnection(url, properties))


def is_missing_driver(text: str) -> bool:
    """Tell whether what the JVM says means that the class of a driver is not there."""
    return "ClassNotFoundException" in text or "NoClassDefFoundError" in text or "No suitable driver" in text


def find_driver(url: str, options: Mapping[str, str]) -> str | None:
    """Return the class name of the driver for a JDBC URL: the one asked for, else the usual one."""
    return get_option(options, "driver") or DRIVERS.get(url.removeprefix("jdbc:").split(":", 1)[0])


def _bind(jvm: Any, statement: Any, index: int, value: SqlValue) -> None:
    if value is None:
        statement.setNull(index, jvm.java.sql.Types.VARCHAR)
    elif isinstance(value, int):
        # py4j sends small numbers as int and large ones as long; one statement must always see one type.
        statement.setBigDecimal(index, jvm.java.math.BigDecimal(str(value)))
    else:
        statement.setString(index, str(value))


def _to_python(value: Any) -> Any:
    if value is None or isinstance(value, str | int | bool | Decimal):
        return value
    return str(value)


@contextmanager
def _as_database_errors() -> Iterator[None]:
    with _translate(_make_database_error):
        yield


@contextmanager
def _as_os_errors() -> Iterator[None]:
    with _translate(_make_os_error):
        yield


@contextmanager
def _translate(make: Callable[[Any], Exception]) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as failure:
        raise make(failure.java_exception) from None


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


def _make_os_error(cause: Any) -> Exception:
    name = str(cause.getClass().getSimpleName())
    message = redact(str(cause.getMessage() or name))
    kinds: dict[str, type[OSError]] = {
        "FileNotFoundException": FileNotFoundError,
        "FileAlreadyExistsException": FileExistsError,
        "AccessControlException": PermissionError,
    }
    return kinds.get(name, OSError)(message)


def is_connect(spark: SparkSession) -> bool:
    """Tell whether Spark runs elsewhere and is spoken to through Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _get_jvm(spark: SparkSession) -> Any:
    if is_connect(spark):
        message = "Spark Connect reaches neither databases nor remote storage for publishing"
        hint = "write to a folder that this process and the server share, or run with spark-submit"
        raise JobError("OUTPUT_002", message, hint=hint)
    return spark.sparkContext._jvm


def use_utc(spark: SparkSession) -> None:
    """Have the JVM live in UTC: JDBC drivers make dates and timestamps in its zone, which may have gaps."""
    if not is_connect(spark):
        zones = _get_jvm(spark).java.util.TimeZone
        zones.setDefault(zones.getTimeZone("UTC"))


def read_planned_bytes(frame: DataFrame) -> int:
    """Return how large Spark's optimizer takes a frame to be."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _get_hadoop_configuration(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()


def is_jvm_alive(spark: SparkSession) -> bool:
    """Tell whether the driver's Java process still answers."""
    if is_connect(spark):
        return True
    try:
        _get_jvm(spark).java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True


def list_causes(failure: BaseException) -> list[str]:
    """Return what a failure of Spark says, with its causes in the JVM, one text each."""
    texts = str(failure).splitlines()
    cause = getattr(failure, "java_exception", None) or getattr(failure, "_origin", None)
    for _ in range(20):
        if cause is None:
            break
        texts.append(str(cause.toString()))
        cause = cause.getCause()
    return texts

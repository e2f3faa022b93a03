"""The one place that knows how to reach the JVM of the driver: PySpark's private members are used here only.

On Spark Connect there is no such JVM: files are reached if both sides see the same folders, and databases are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spark_jobs.errors import JobError
from spark_jobs.redaction import redact

try:
    from py4j.protocol import Py4JError as Py4JError  # type: ignore[import-untyped]
    from py4j.protocol import Py4JJavaError as Py4JJavaError
except ModuleNotFoundError:
    # pyspark-client, for Spark Connect alone, comes without it, and nothing raises these then.
    Py4JError = Py4JJavaError = type("Py4JError", (Exception,), {})


if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_connect(spark: SparkSession) -> bool:
    """Return whether Spark runs elsewhere and is spoken to through Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def get_java(spark: SparkSession) -> Any:
    """Return the root of Java's packages in the driver; OUTPUT_002 on Spark Connect, which has none."""
    if is_connect(spark):
        message = "Spark Connect reaches neither databases nor remote storage for publishing"
        hint = "write to a folder that this process and the server share, or run with spark-submit"
        raise JobError("OUTPUT_002", message, hint=hint)
    return spark.sparkContext._jvm


def get_hadoop_configuration(spark: SparkSession) -> Any:
    """Return Hadoop's settings, with those of the session."""
    return spark._jsparkSession.sessionState().newHadoopConf()


def get_sql_settings(spark: SparkSession) -> Any:
    """Return Spark SQL's settings of the session."""
    return spark._jsparkSession.sessionState().conf()


def get_java_context(spark: SparkSession) -> Any:
    """Return the driver's SparkContext as Java has it."""
    return spark.sparkContext._jsc.sc()


def describe_jobs(spark: SparkSession, description: str | None) -> None:
    """Give the jobs that this thread starts from now on a description, which Spark's own pages show as well."""
    if not is_connect(spark):
        spark.sparkContext.setJobDescription(description)  # type: ignore[arg-type]


def make_java_array(spark: SparkSession, kind: Any, items: Sequence[Any]) -> Any:
    """Return a Java array of these objects of one class."""
    array = spark.sparkContext._gateway.new_array(kind, len(items))  # type: ignore[union-attr]
    for index, item in enumerate(items):
        array[index] = item
    return array


def get_file_index(frame: DataFrame) -> Any:
    """Return Spark's list of the files of a frame that reads files and does nothing else."""
    return frame._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()


def use_utc(spark: SparkSession) -> None:
    """Have the JVM live in UTC: JDBC drivers make dates and timestamps in its zone, which may have gaps."""
    if not is_connect(spark):
        zones = get_java(spark).java.util.TimeZone
        zones.setDefault(zones.getTimeZone("UTC"))


def read_planned_bytes(frame: DataFrame) -> int:
    """Return how large Spark's optimizer takes a frame to be."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def is_jvm_alive(spark: SparkSession) -> bool:
    """Return whether the driver's Java process still answers."""
    if is_connect(spark):
        return True
    try:
        get_java(spark).java.lang.System.nanoTime()
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


@contextmanager
def translate_java_errors(make: Callable[[Any], Exception]) -> Iterator[None]:
    """Raise what a function makes of a Java exception."""
    try:
        yield
    except Py4JJavaError as failure:
        raise make(failure.java_exception) from None


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise failures of Hadoop's file systems as Python's own kinds of OSError."""
    with translate_java_errors(_make_os_error):
        yield


def _make_os_error(cause: Any) -> Exception:
    name = str(cause.getClass().getSimpleName())
    message = redact(str(cause.getMessage() or name))
    kinds: dict[str, type[OSError]] = {
        "FileNotFoundException": FileNotFoundError,
        "FileAlreadyExistsException": FileExistsError,
        "AccessControlException": PermissionError,
    }
    return kinds.get(name, OSError)(message)

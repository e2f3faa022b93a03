"""Session settings that results depend on, set whatever the cluster's defaults are."""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spark_jobs.errors import JobError
from spark_jobs.spark.jvm import use_utc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: dict[str, str] = {
    # What a value means.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    # The other reader makes NULL of decimals that do not fit and -1 of large unsigned numbers, without a word.
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    # CSV from an office's desktop is windows-1252, which the list of encodings of Spark 4 leaves out.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    # A shuffle that is recomputed gives the same rows, or the stage is run again.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "true",
    # A deeply nested expression is resolved one level at a time; the default of 100 levels is too few.
    "spark.sql.analyzer.maxIterations": "2000",
    # How it runs.
    # Credentials are options of readers and writers, which plans, Spark's pages and its event log repeat.
    "spark.sql.redaction.options.regex": ".*",
    # Generated code that differs in nothing but its number is compiled once, and stays as quick as it has become.
    "spark.sql.codegen.useIdInClassName": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.optimizer.scalarSubqueryUseSingleJoin": "true",
    # BETWEEN and NULLIF over a row's columns inside a join's subquery cannot be planned as common expressions.
    "spark.sql.legacy.duplicateBetweenInput": "true",
    "spark.sql.alwaysInlineCommonExpr": "true",
    # A match is a struct; taken apart by the optimizer, the condition of an EXISTS beside it loses its columns (4.2.0).
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.optimizer.expression.nestedPruning.enabled": "false",
}

START_SETTINGS: dict[str, str] = {
    # Executors read and write databases, and drivers make dates and timestamps in the zone of their Java.
    "spark.executorEnv.TZ": "UTC",
}
"""What Spark has to be started with; the driver itself is moved to UTC by `configure_session`."""
DEFAULT_SHUFFLE_PARTITIONS = "200"
CONNECT_PORT = 15002
CONNECT_SECONDS = 10.0
_LOCAL_MASTER = re.compile(r"local\[(\*|\d+)")


def configure_session(spark: SparkSession) -> None:
    """Set what results depend on, and as many shuffle partitions as a single machine has use for."""
    # Spark's Python side logs failing queries with values of the data in them.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    # py4j logs to the root logger, with its stack, that Java does not answer; what follows from it is reported anyway.
    logging.getLogger().addFilter(_is_not_from_py4j)
    for key, value in SETTINGS.items():
        if _read_setting(spark, key) != value:
            spark.conf.set(key, value)
    use_utc(spark)
    cores = count_local_cores(spark)
    if cores and spark.conf.get("spark.sql.shuffle.partitions") == DEFAULT_SHUFFLE_PARTITIONS:
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * cores))


def require_server(address: str) -> None:
    """Look whether a Spark Connect server listens: its client would try for ten minutes before it says so."""
    place = urlsplit(address)
    name = f"{place.hostname}:{place.port or CONNECT_PORT}"
    try:
        socket.create_connection((place.hostname or "", place.port or CONNECT_PORT), CONNECT_SECONDS).close()
    except OSError as failure:
        reason = f"no Spark Connect server answers at {name}: {failure.strerror or failure}"
        hint = "start the server, or see whether its address is right"
        raise JobError("INFRA_001", reason, hint=hint) from failure


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _read_setting(spark: SparkSession, key: str) -> str | None:
    """Return a setting or its default; None for a key that this version of Spark does not know."""
    try:
        return spark.conf.get(key)
    except Exception:  # noqa: BLE001 - the kind differs between versions and Spark Connect
        return None


def count_local_cores(spark: SparkSession) -> int:
    """Return how many tasks a local Spark runs at once, 0 for a cluster."""
    master = spark.conf.get("spark.master", "") or ""
    if master == "local":
        return 1
    match = _LOCAL_MASTER.match(master)
    if match is None:
        return 0
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1])


def ignore_pandas() -> None:
    """Keep a warning out of logs: PySpark looks at the version of pandas, which nothing here uses."""
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

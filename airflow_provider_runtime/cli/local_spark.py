"""A Spark session in this process, for the commands `run` and `test`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.errors import InfrastructureError, Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": ".runtime/warehouse",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
}
"""What a command of a person or a script needs of Spark and no more; every key can be set with --conf."""


def start_spark(master: str, conf: Mapping[str, str], *, app_name: str = "airflow-runtime") -> SparkSession:
    """Start Spark with our settings; a missing pyspark or Java is an error that says what to install."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        hint = "install it with: pip install 'airflow-provider-runtime[spark]'"
        raise InfrastructureError(Problem("INFRA_001", "pyspark is not installed", hint)) from error
    from spark_jobs.session import configure_session

    if master.startswith("local"):
        # Nobody else is talked to: the machine's name need not resolve, and no port is open to others.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark looks whether pandas is there, and warns of its version though nothing here uses it.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    # Executors on this machine must run the very Python that runs us.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in {**QUIET, **conf}.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        hint = "Spark needs Java 17 or later: set JAVA_HOME to one"
        raise InfrastructureError(Problem("INFRA_001", f"Spark did not start: {_first_line(error)}", hint)) from error
    configure_session(spark)
    return spark


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

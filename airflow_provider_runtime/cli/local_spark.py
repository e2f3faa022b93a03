"""A Spark session in this process, for the commands `run` and `test`."""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_runtime.cli.spark_requirements import require_java, require_pyspark
from airflow_provider_runtime.cli.warm_spark import WARM, get_warm_spark
from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.core.planning.resolve.locations import show_address
from airflow_provider_runtime.fast_start.home import QuickHome, find_quick_home, make_quick_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
MASTER = re.compile(r"local(-cluster)?(\[[^\[\]]+\])?|yarn|(spark|k8s)://.+")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.warehouse.dir": ".runtime/warehouse",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
}
"""What a command of a person or a script needs of Spark and no more; every key can be set with --conf."""


def require_master(master: str) -> None:
    """Raise if no Spark can be started with this master, or the warm one is not running."""
    if master == WARM:
        get_warm_spark()
    elif not master.startswith("sc://") and not MASTER.fullmatch(master):
        hint = "write local[*], spark://HOST:PORT, yarn, k8s://…, sc://HOST:PORT, warm"
        raise InfrastructureError(Problem("INFRA_001", f"'{show_address(master)}' is not a master", hint))


def start_spark(
    master: str, conf: Mapping[str, str], *, app_name: str = "airflow-runtime", is_small: bool = False
) -> SparkSession:
    """Start Spark with our settings; a missing pyspark or Java is an error that says what to install.

    `is_small` says that it will read little for certain.
    """
    require_pyspark()
    from spark_jobs.spark.session import START_SETTINGS, configure_session, ignore_pandas

    if master == WARM:
        master = get_warm_spark().address
    if master.startswith("local"):
        # Nobody else is talked to: the machine's name need not resolve, and no port is open to others.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    ignore_pandas()
    # Executors on this machine must run the very Python that runs us.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("sc://"):
        return _connect(master, conf)
    require_master(master)
    require_java()
    settings = {**QUIET, **conf, **START_SETTINGS, "spark.app.name": app_name, "spark.master": master}
    home = find_quick_home(os.environ) if master.startswith("local") else None
    try:
        spark = _start_session(settings, home, is_small=is_small)
    except Exception as error:
        hint = "Spark needs Java 17 or later: set JAVA_HOME to one"
        reason = f"Spark did not start: {_first_line(error).replace(master, show_address(master))}"
        raise InfrastructureError(Problem("INFRA_001", reason, hint)) from error
    configure_session(spark)
    return spark


def _connect(address: str, conf: Mapping[str, str]) -> SparkSession:
    """Open a session on a Spark Connect server; it has settings and temporary views of its own."""
    from pyspark.sql import SparkSession

    from spark_jobs.errors import JobError
    from spark_jobs.spark.session import configure_session, require_server

    builder = SparkSession.builder.remote(address)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        require_server(address)
        spark = builder.getOrCreate()
        configure_session(spark)
    except JobError as error:
        raise InfrastructureError(Problem("INFRA_001", error.message, error.hint)) from error
    except Exception as error:
        place = show_address(address)
        hint = "see the log of the server"
        reason = f"Spark Connect at {place} does not work: {_first_line(error).replace(address, place)}"
        raise InfrastructureError(Problem("INFRA_001", reason, hint)) from error
    return spark


def _start_session(settings: Mapping[str, str], home: QuickHome | None, *, is_small: bool) -> SparkSession:
    """Start Spark the quick way if there is one, and again the plain way if that should fail."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    texts = [f"{key}={value}" for key, value in settings.items()]
    quick = make_quick_environment(settings["spark.master"], texts, os.environ, home, is_small=is_small)
    try:
        with _environment(quick):
            spark = builder.getOrCreate()
    except Exception:
        if not quick:
            raise
        if home is not None:
            home.discard_archive()
        return builder.getOrCreate()
    if home is not None and home.needs_training:
        atexit.register(_train_later, home)
    return spark


def _train_later(home: QuickHome) -> None:
    from airflow_provider_runtime.fast_start.training import train_later

    if train_later(home):
        note = "Spark will start quicker from now on: a process in the background prepares that, once (see `warmup`)"
        print(note, file=sys.stderr)  # noqa: T201


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the process that is started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

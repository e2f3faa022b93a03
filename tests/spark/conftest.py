"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.session import configure_session

# One JVM serves all tests of a process, those with a database too.
JDBC_DRIVER = Path("/usr/share/java/postgresql.jar")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.jars", str(JDBC_DRIVER) if JDBC_DRIVER.is_file() else "")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    configure_session(session)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give every test the settings as they were, whatever one before has set."""
    if "spark" not in request.fixturenames:
        yield
        return
    session: SparkSession = request.getfixturevalue("spark")
    yield
    for key in ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.files.maxPartitionBytes"):
        session.conf.unset(key)
    configure_session(session)

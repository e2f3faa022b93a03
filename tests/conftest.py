"""What tests of several folders share: one Spark, one PostgreSQL and one cluster a process, started when needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.integration.connect_server import QUICK_JAVA, connect_server
from tests.integration.postgres import JDBC_DRIVER, postgres_server
from tests.integration.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["connect_server", "postgres_server", "spark_cluster"]

# How long an example takes says more about the machine than about what is tested.
settings.register_profile("any machine", settings.default, deadline=None)
settings.load_profile("any machine")


SERVICES = {"airflow": "connect", "connect_server": "connect", "spark_cluster": "cluster"}
"""Fixtures that are dear to start, and what the files that use them have in common: they run in one process."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a file, and of a service, in one process; unit tests first, and then what takes longest."""
    used = {
        item.path: group
        for item in items
        for name, group in SERVICES.items()
        if name in getattr(item, "fixturenames", ())
    }
    items.sort(key=lambda item: ("unit" not in item.path.parts, used.get(item.path) != "connect"))
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            item.add_marker(pytest.mark.xdist_group(used.get(item.path) or item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # Imported here: most tests need no Spark and start at once.
    from pyspark.sql import SparkSession

    from spark_jobs.spark.session import configure_session

    folder = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", QUICK_JAVA)
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


@pytest.fixture
def commands_share_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `airflow-runtime run` of this process the Spark of all tests, and let it live."""
    monkeypatch.setattr("airflow_provider_runtime.cli.local_spark.start_spark", lambda *_, **__: spark.newSession())
    monkeypatch.setattr("airflow_provider_runtime.cli.local_run.LocalRunner.stop", lambda _: None)

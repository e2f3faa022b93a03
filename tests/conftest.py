"""What tests of several folders share: one Spark, one PostgreSQL and one cluster a process, started when needed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.integration.connect_server import QUICK_JAVA, connect_server
from tests.integration.mariadb import MARIADB_DRIVER, mariadb_server
from tests.integration.postgres import JDBC_DRIVER, postgres_server
from tests.integration.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["connect_server", "mariadb_server", "postgres_server", "spark_cluster"]

# How long an example takes says more about the machine than about what is tested.
settings.register_profile("any machine", settings.default, deadline=None)
settings.load_profile("any machine")


SHARED = {
    "tests/integration/airflow/": "airflow",
    "tests/integration/test_spark_connect.py": "airflow",
    "tests/integration/crashes/": "crashes",
}
"""Files by what is started once for all of them; every other file shares with itself alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put unit tests first, and then what takes longest."""
    items.sort(key=lambda item: ("unit" not in item.path.parts, find_group(item.nodeid) != "airflow"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process whole files, and all files of a group to one process.

    xdist's own groups (`--dist loadgroup`) are lost with pytest 9.2: each test goes to any process, and so every
    service would be started in all of them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class FileScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return find_group(nodeid)

    return FileScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print, beside the slowest tests, the files that take longest."""
    most = config.getoption("durations")
    if not most:
        return
    seconds = Counter[str]()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.section(f"slowest {most} files")
    for file, spent in seconds.most_common(most):
        terminalreporter.write_line(f"{spent:.2f}s {file}")


def find_group(nodeid: str) -> str:
    """Return the group of a test, which is its file where it shares nothing with others."""
    file = nodeid.partition("::")[0]
    return next((group for start, group in SHARED.items() if file.startswith(start)), file)


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
        .config("spark.jars", ",".join(str(jar) for jar in (JDBC_DRIVER, MARIADB_DRIVER) if jar.is_file()))
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

"""One real Airflow for all tests of this folder, with the example DAGs on a copy of their catalog and data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.airflow.standalone import Standalone

EXAMPLES = Path(__file__).resolve().parents[3] / "dags_examples"


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory, connect_server: int) -> Iterator[Standalone]:
    """Return the running Airflow, whose runs take place on a warm server where no other connection is named."""
    folder = tmp_path_factory.mktemp("airflow")
    dags = folder / "dags"
    shutil.copytree(EXAMPLES, dags, ignore=shutil.ignore_patterns("warehouse", "__pycache__", ".runtime"))
    for source in (Path(__file__).parent / "dags").iterdir():
        if source.is_dir():
            shutil.copytree(source, dags / source.name)
        else:
            shutil.copy(source, dags)
    connections = {
        "SPARK_DEFAULT": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": connect_server},
        "SPARK_SUBMIT": {"conn_type": "spark", "host": "local[1]"},
    }
    environment = {f"AIRFLOW_CONN_{name}": json.dumps(values) for name, values in connections.items()}
    running = Standalone(home=folder / "home", dags=dags, extra_environment=environment)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop Airflow after the last test that needs it: it keeps a processor busy."""
    running = getattr(item, "funcargs", {}).get("airflow")
    if running is not None and "airflow" not in getattr(nextitem, "fixturenames", ()):
        running.stop()

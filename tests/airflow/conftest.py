"""Airflow without services: its settings point into a temporary folder before it is imported."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

from tests.airflow.tasks import FakeSpark

HOME = Path(tempfile.mkdtemp(prefix="runtime-airflow-"))
os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{HOME}/airflow.db",
)

# Airflow and its dependencies warn while they are imported; that is not what the tests are about.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import airflow.sdk  # noqa: F401
    from airflow import plugins_manager  # noqa: F401
    from airflow.providers.apache.spark.operators import spark_submit  # noqa: F401
    from airflow.serialization import serialized_objects  # noqa: F401

EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLES / "catalog", tmp_path / "catalog")
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    return tmp_path


@pytest.fixture
def spark(home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    (home / "bin").mkdir()
    fake = FakeSpark(home / "bin")
    fake.install()
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    return fake

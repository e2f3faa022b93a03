"""Airflow without services: its settings point into a temporary folder before it is imported."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

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

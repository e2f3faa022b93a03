"""Books with a month of data."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark_jobs.checks.books import RIGHT, Books


@pytest.fixture
def books(spark: SparkSession, tmp_path: Path) -> Books:
    made = Books(spark, tmp_path)
    made.write("2026-01", RIGHT)
    return made

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.registry.sql import open_registry
from tests.integration.runs.workplace import Workplace
from tests.integration.tables.books import Books
from tests.integration.tables.kit import TableKit


@pytest.fixture(params=["iceberg", "delta"])
def kit(request: Any, tmp_path: Path) -> TableKit:
    return TableKit(request.param, tmp_path)


@pytest.fixture(params=["iceberg", "delta"])
def books(request: Any, tmp_path: Path, spark: SparkSession) -> Iterator[Books]:
    registry = open_registry(f"sqlite:///{tmp_path}/registry.db")
    books = Books(Workplace(tmp_path, registry, spark, ""), request.param)
    books.define_sources()
    yield books
    registry.close()

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.registry.sql import open_registry
from tests.integration.runs.workplace import Workplace


@pytest.fixture(params=["postgresql", pytest.param("sqlite", marks=pytest.mark.chaos)])
def workplace(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Iterator[Workplace]:
    """A workplace with its registry on PostgreSQL; SQLite is what commands use in all other tests."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/registry.db"
    else:
        url = request.getfixturevalue("postgres_server").make_database()
    registry = open_registry(url)
    yield Workplace(tmp_path, registry, spark, url)
    registry.close()

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_runtime.cli.local_spark import start_spark
from airflow_provider_runtime.scenarios.runner import ScenarioRunner


@pytest.fixture(scope="session")
def scenario_runner() -> Iterator[ScenarioRunner]:
    spark = start_spark("local[2]", {"spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"})
    yield ScenarioRunner(lambda: spark)
    spark.stop()

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.scenarios.runner import ScenarioRunner


@pytest.fixture(scope="session")
def scenario_runner(spark: SparkSession) -> ScenarioRunner:
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    return ScenarioRunner(lambda: spark)

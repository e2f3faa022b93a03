from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.scenarios.runner import ScenarioRunner


@pytest.fixture(scope="session")
def scenario_runner(spark: SparkSession) -> ScenarioRunner:
    # A few rows each: one partition, and no plan that is made over again between its stages.
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    return ScenarioRunner(lambda: spark)

"""Tests of the Spark job share one session; each gets the settings as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_jobs.spark.session import configure_session


@pytest.fixture(autouse=True)
def _settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give every test the settings as they were, whatever one before has set."""
    if "spark" not in request.fixturenames:
        yield
        return
    session: SparkSession = request.getfixturevalue("spark")
    yield
    for key in ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.files.maxPartitionBytes"):
        session.conf.unset(key)
    configure_session(session)

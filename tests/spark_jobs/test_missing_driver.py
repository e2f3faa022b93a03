"""A JDBC driver whose class is missing, asked of the real JVM."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.credentials import Credentials
from spark_jobs.spark.databases import MissingDriverError, connect_database

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("url", "words"), [("jdbc:mysql://h/d", "com.mysql.cj.jdbc.Driver"), ("jdbc:zz://h", "URL")])
def test_database_whose_driver_is_missing_is_reported(spark: SparkSession, url: str, words: str) -> None:
    with pytest.raises(MissingDriverError, match=words):
        connect_database(spark, url, {}, Credentials())

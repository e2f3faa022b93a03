"""The hash in Python is Spark's own, whatever the length of the text."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from spark_jobs.rows.hashing import xxhash64

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_hash_of_texts_is_that_of_spark(spark: SparkSession) -> None:
    random.seed(7)
    texts = ["".join(random.choices("abcé€😀/ %20", k=length)) for length in range(120)]
    rows = spark.createDataFrame([(text,) for text in texts], "text string")

    found = rows.selectExpr("text", "xxhash64('0:2026-01/0', CAST(text AS binary)) AS hash").collect()

    assert {row["text"]: row["hash"] % (1 << 64) for row in found} == {
        text: xxhash64("0:2026-01/0", text) for text in texts
    }

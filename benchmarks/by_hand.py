"""What the scripts that are written by hand for Spark share: a session tuned for this machine, and row ids."""

from __future__ import annotations

from pyspark.sql import SparkSession

MILLISECONDS = 1770091446000


def start_spark(name: str) -> SparkSession:
    """Start Spark with what suits two cores and one machine."""
    settings = {
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.autoBroadcastJoinThreshold": "64m",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def make_row_id(seq: int) -> str:
    """Return SQL for a UUID of version 7: the time, the operation, and the row's position."""
    time_part = f"{MILLISECONDS:012x}"
    position = "lpad(lower(hex(monotonically_increasing_id())), 15, '0')"
    head = f"{time_part[:8]}-{time_part[8:]}-7{seq:03x}-8"
    return f"concat('{head}', left({position}, 3), '-', right({position}, 12))"

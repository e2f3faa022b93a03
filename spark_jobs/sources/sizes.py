"""How large a table is, as Spark's own statistics say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.contract.sql import quote_name
from spark_jobs.spark.jvm import is_connect, read_planned_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SIZE = re.compile(r"sizeInBytes=([0-9.]+(?:E[+-]?\d+)?) (B|KiB|MiB|GiB|TiB|PiB|EiB)")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MEMORY = re.compile(r"(-?\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_MEMORY_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
DEFAULT_BROADCAST_BYTES = 10 << 20


def choose_join_strategy(spark: SparkSession, view: str, columns: Sequence[str]) -> str:
    """Return BROADCAST for a side that is small enough for it, else SHUFFLE_HASH; never leave it to a nested loop."""
    size = estimate_bytes(spark, view, columns)
    return "BROADCAST" if size is not None and size <= read_broadcast_limit(spark) else "SHUFFLE_HASH"


def estimate_bytes(spark: SparkSession, view: str, columns: Sequence[str]) -> int | None:
    """Return the size of a view's columns before any filter; None when Spark does not say."""
    names = [quote_name(name) for name in columns] or ["1"]
    if not is_connect(spark):
        return read_planned_bytes(spark.table(quote_name(view)).selectExpr(*names))
    text = str(spark.sql(f"EXPLAIN COST SELECT {', '.join(names)} FROM {quote_name(view)}").collect()[0][0])
    match = _SIZE.search(text)
    return None if match is None else int(float(match[1]) * 1024 ** _UNITS.index(match[2]))


def read_broadcast_limit(spark: SparkSession) -> int:
    """Return `spark.sql.autoBroadcastJoinThreshold` in bytes."""
    match = _MEMORY.fullmatch((spark.conf.get("spark.sql.autoBroadcastJoinThreshold") or "").strip())
    if match is None:
        return DEFAULT_BROADCAST_BYTES
    return int(match[1]) << _MEMORY_UNITS[match[2].lower()] if int(match[1]) > 0 else int(match[1])

"""Keys that stand in more than one row.

Hashes of the keys are counted first: numbers are grouped much quicker than texts, and equal keys have equal hashes.
Only when a hash stands twice are the keys themselves counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_duplicates(rows: DataFrame, columns: Sequence[str]) -> tuple[int, int]:
    """Return how many rows there are, and how many of them share their key with another row."""
    names = [quote_name(name) for name in columns]
    hashes = rows.groupBy(functions.expr(f"xxhash64({', '.join(names)})").alias("@hash")).count()
    total, suspects = _sum_counts(hashes)
    return total, _sum_counts(rows.groupBy(*names).count())[1] if suspects else 0


def find_duplicates(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows that share their key with another row, those of a key together."""
    keys = [quote_name(name) for name in columns]
    renamed = [functions.expr(name).alias(f"@k{index}") for index, name in enumerate(keys)]
    repeated = rows.groupBy(*renamed).count().where("count > 1").drop("count")
    same = " AND ".join(f"{name} <=> `@k{index}`" for index, name in enumerate(keys))
    return rows.join(repeated, functions.expr(same), "left_semi").orderBy(*keys)


def _sum_counts(counts: DataFrame) -> tuple[int, int]:
    found = counts.selectExpr("sum(count)", "sum(CASE WHEN count > 1 THEN count END)").first()
    assert found is not None
    return int(found[0] or 0), int(found[1] or 0)

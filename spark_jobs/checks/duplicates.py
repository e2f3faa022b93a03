"""Keys that are in more than one row.

Hashes of the keys are looked at first: equal keys have equal hashes. Lists of hashes are exchanged and compared much
quicker than groups of them, but have to be held; so many rows are grouped. Only when a hash occurs twice are the keys
themselves counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MOST_LISTED = 2_000_000
"""Rows whose hashes are held in lists: some twenty bytes each."""
LONGEST_LIST = 500_000


def count_duplicates(rows: DataFrame, columns: Sequence[str], most: int) -> tuple[int, int]:
    """Return how many rows there are, at most `most`, and how many of them share their key with another row."""
    names = [quote_name(name) for name in columns]
    hashes = rows.selectExpr(f"xxhash64({', '.join(names)}) AS `@h`")
    total, different = _count_listed(hashes, most) if most <= MOST_LISTED else _count_grouped(hashes)
    if different == total:
        return total, 0
    return _read_two(rows.groupBy(*names).count(), "sum(count)", "sum(CASE WHEN count > 1 THEN count END)")


def find_duplicates(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows that share their key with another row, those of a key together."""
    keys = [quote_name(name) for name in columns]
    renamed = [functions.expr(name).alias(f"@k{index}") for index, name in enumerate(keys)]
    repeated = rows.groupBy(*renamed).count().where("count > 1").drop("count")
    same = " AND ".join(f"{name} <=> `@k{index}`" for index, name in enumerate(keys))
    return rows.join(repeated, functions.expr(same), "left_semi").orderBy(*keys)


def _count_listed(hashes: DataFrame, most: int) -> tuple[int, int]:
    """Return how many hashes there are, and how many different ones."""
    lists = hashes.groupBy(functions.expr(f"pmod(`@h`, {most // LONGEST_LIST + 1})"))
    listed = lists.agg(functions.expr("collect_list(`@h`)").alias("@l"))
    return _read_two(listed, "sum(size(`@l`))", "sum(size(array_distinct(`@l`)))")


def _count_grouped(hashes: DataFrame) -> tuple[int, int]:
    return _read_two(hashes.groupBy("`@h`").count(), "sum(count)", "count(1)")


def _read_two(frame: DataFrame, *aggregates: str) -> tuple[int, int]:
    found = frame.selectExpr(*aggregates).first()
    assert found is not None
    return int(found[0] or 0), int(found[1] or 0)

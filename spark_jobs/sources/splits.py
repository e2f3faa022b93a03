"""How much of a scan one task reads on a single machine, so that its cores end together.

Spark packs whole files into tasks of at most 128 MiB. Where a table fills little more than one task for each core, that
leaves all cores but one idle while the last task runs; other sizes pack the same files evenly.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from spark_jobs.contract.addresses import is_local
from spark_jobs.spark.session import count_local_cores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLIT_SETTING = "spark.sql.files.maxPartitionBytes"
_MIB = 1 << 20
USUAL_BYTES = 128 * _MIB
_OTHER_BYTES = range(64 * _MIB, 256 * _MIB + 1, 8 * _MIB)
_OPEN_BYTES = 4 * _MIB
"""What opening a file is worth: Spark's `spark.sql.files.openCostInBytes`."""
_ROUNDS_THAT_EVEN_OUT = 16


def spread_files(spark: SparkSession, files: Iterable[str]) -> bool:
    """Set how much one task reads, unless the user has; returns whether it is another size than Spark's own."""
    cores = count_local_cores(spark)
    if not cores or spark.conf.get(SPLIT_SETTING) != f"{USUAL_BYTES}b":
        return False
    try:
        sizes = [os.stat(unquote(urlparse(file).path)).st_size for file in files if is_local(file)]
    except OSError:
        return False
    chosen = choose_split_bytes(sizes, cores)
    if chosen != USUAL_BYTES:
        spark.conf.set(SPLIT_SETTING, str(chosen))
    return chosen != USUAL_BYTES


def choose_split_bytes(sizes: Sequence[int], cores: int) -> int:
    """Return the most that a task may read for the cores to end soonest; Spark's own size where no other is better.

    Larger files are cut, and where is for their row groups to say; many tasks even out by themselves.
    """
    total = sum(sizes)
    if not sizes or max(sizes) > USUAL_BYTES or total > _ROUNDS_THAT_EVEN_OUT * cores * USUAL_BYTES:
        return USUAL_BYTES
    share = (total + len(sizes) * _OPEN_BYTES) // cores
    largest_first = sorted(sizes, reverse=True)
    whole = [size for size in _OTHER_BYTES if size >= largest_first[0]]
    return min((USUAL_BYTES, *whole), key=lambda size: _run(_pack(largest_first, min(size, share)), cores))


def _pack(sizes: Iterable[int], limit: int) -> list[int]:
    """Return the bytes of each task, packed as Spark packs files."""
    tasks: list[int] = []
    filled = limit + 1
    for size in sizes:
        if filled + size > limit:
            tasks.append(0)
            filled = 0
        tasks[-1] += size
        filled += size + _OPEN_BYTES
    return tasks


def _run(tasks: Iterable[int], cores: int) -> int:
    """Return how many bytes the busiest core reads when each takes the next task as soon as it is free."""
    busy = [0] * cores
    for task in tasks:
        busy[busy.index(min(busy))] += task
    return max(busy)

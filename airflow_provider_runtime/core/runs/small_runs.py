"""Runs that read so little that Java should spend no time on optimising their code."""

from __future__ import annotations

from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from spark_jobs.contract.snapshot import Snapshot

SMALL_BYTES = 4 << 20
"""Some 200,000 rows of Parquet: with more of them, code that is compiled well earns back what that takes."""


def is_small_run(snapshot: Snapshot, times: int = 1) -> bool:
    """Return whether so many runs like this one read few bytes; False where some are not files of this machine."""
    local = Fingerprints(lambda _: None)
    total = 0
    for table in snapshot.plan.tables.values():
        for location in table.locations:
            files = local.list_files(location)
            if files is None:
                return False
            total += times * sum(file.bytes for file in files)
            if total > SMALL_BYTES:
                return False
    return True

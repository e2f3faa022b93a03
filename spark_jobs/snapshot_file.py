"""The snapshot that the job was given, read from its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.file_lists import SUFFIX
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES, Snapshot, UnreadableSnapshotError, parse_snapshot
from spark_jobs.errors import JobError
from spark_jobs.spark.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_snapshot(uri: str, sha256: str, spark: SparkSession | None = None) -> Snapshot:
    """Return the snapshot at an address that this machine, or the session, can read; SNAPSHOT_001 when it cannot be."""

    def read(address: str) -> bytes:
        try:
            content = open_storage(address, spark).read_bytes(address, MAX_SNAPSHOT_BYTES)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            hint = "check the address; the file may have been removed"
            raise JobError("SNAPSHOT_001", f"the snapshot {address} cannot be read: {reason}", hint=hint) from failure
        if len(content) > MAX_SNAPSHOT_BYTES:
            message = f"{address} is larger than {MAX_SNAPSHOT_BYTES >> 20} MiB: it is not a snapshot"
            raise JobError("SNAPSHOT_001", message, hint="name a snapshot's file")
        return content

    try:
        return parse_snapshot(read(uri), sha256, lambda: read(uri + SUFFIX))
    except UnreadableSnapshotError as failure:
        raise JobError("SNAPSHOT_001", str(failure), hint=failure.hint) from failure

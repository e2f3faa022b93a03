"""Slices of registered datasets: what is read must be what was registered."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.spark.jvm import is_connect
from spark_jobs.spark.parquet_footers import count_parquet_rows
from spark_jobs.spark.storage import digest_rows, open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.sources.raw_rows import RawRows

MOST_BYTES_READ_AGAIN = 64 << 20
"""Up to this size the files are read once more, to compare their content; of larger ones the rows are counted."""


class ChangedSliceError(Exception):
    """The files of a slice are not those that were registered."""


def refuse_changed_slice(spark: SparkSession, rows: RawRows) -> None:
    """Raise ChangedSliceError when a slice has other rows than the registry says; files of a server are not read."""
    registered, seen = rows.location.registered, rows.seen_files
    if registered is None or seen is None or is_connect(spark):
        return
    uri = rows.location.shown_uri
    if registered.content is not None and sum(file.state.bytes for file in seen) <= MOST_BYTES_READ_AGAIN:
        found = digest_rows(open_storage(uri, spark), uri)
        if found is not None and found != registered.content:
            raise ChangedSliceError("their content is another one")
        return
    counted = sum(count_parquet_rows(spark, unquote(file)) for file in rows.files)
    if counted != registered.rows:
        raise ChangedSliceError(f"they have {counted} rows instead of {registered.rows}")

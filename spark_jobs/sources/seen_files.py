"""The files that a run reads: what its report says of them, and whether they are replaced while it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.contract.addresses import escape_pattern, is_local
from spark_jobs.contract.fingerprints import FileState
from spark_jobs.spark.file_listing import list_folder_files, list_listed_files
from spark_jobs.spark.jvm import is_connect
from spark_jobs.spark.storage import get_local_path, split_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it was when it was looked at."""

    state: FileState
    identity: str = ""
    """What another file of this name does not have, even one as large and as old: its inode, or the store's tag."""


def look_at_files(frame: DataFrame, files: Iterable[str]) -> tuple[SeenFile, ...] | None:
    """Return the files of a frame as Spark has listed them; None where that is unknown."""
    files = tuple(files)
    local = _look_at_local_files(files)
    if local is not None:
        return local
    if is_connect(frame.sparkSession):
        return _ask_server(frame.sparkSession, files)
    found = {file.state.path: file for file in map(_make_seen, list_listed_files(frame))}
    return _pick(found, files)


def look_again(spark: SparkSession, files: Iterable[str]) -> tuple[SeenFile, ...] | None:
    """Return the files as they are now, without those that are gone."""
    files = tuple(files)
    local = _look_at_local_files(files)
    if local is not None:
        return local
    if is_connect(spark):
        return _ask_server(spark, files)
    folders = dict.fromkeys(split_uri(unquote(file))[0] for file in files)
    found = {file.state.path: file for folder in folders for file in map(_make_seen, list_folder_files(spark, folder))}
    return _pick(found, files)


def find_replaced(before: Iterable[SeenFile], now: Iterable[SeenFile]) -> str | None:
    """Return the first file that is another one than before; one that is gone was read while it was there."""
    known = {file.state.path: file for file in now}
    return next((file.state.path for file in before if not _is_same(file, known.get(file.state.path, file))), None)


def _is_same(before: SeenFile, now: SeenFile) -> bool:
    # A listing that Spark has made in parallel has lost the store's tags.
    return before.state == now.state and (before.identity == now.identity or "" in (before.identity, now.identity))


def _look_at_local_files(files: tuple[str, ...]) -> tuple[SeenFile, ...] | None:
    """Return local files as this machine sees them; None where others are among them, or none is here."""
    if not all(map(is_local, files)):
        return None
    seen = []
    for file in files:
        path = get_local_path(unquote(file))
        try:
            found = os.stat(path)
        except OSError:
            continue
        state = FileState(path, found.st_size, found.st_mtime_ns // 1_000_000)
        seen.append(SeenFile(state, f"{found.st_ino} {found.st_mtime_ns}"))
    return tuple(seen) if seen or not files else None


def _pick(found: dict[str, SeenFile], files: tuple[str, ...]) -> tuple[SeenFile, ...] | None:
    seen = [found[path] for path in map(unquote, files) if path in found]
    return tuple(seen) if seen or not files else None


def _make_seen(listed: tuple[str, int, int, str]) -> SeenFile:
    path, size, modified_millis, tag = listed
    return SeenFile(FileState(path, size, modified_millis), tag)


def _ask_server(spark: SparkSession, files: tuple[str, ...]) -> tuple[SeenFile, ...]:
    """Return files that only a Spark Connect server sees; their content is not read."""
    if not files:
        return ()
    listed = spark.read.format("binaryFile").load([escape_pattern(unquote(file)) for file in files])
    rows = listed.selectExpr("path", "length", "unix_millis(modificationTime)").collect()
    return tuple(SeenFile(FileState(unquote(path), size, modified)) for path, size, modified in rows)

"""The files at locations, as planning can list them: on this machine, and in stores that fsspec knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from spark_jobs.contract.addresses import find_local_path, unescape_pattern
from spark_jobs.contract.fingerprints import FileState, take_fingerprint
from spark_jobs.contract.plan import Location

_UNESCAPED_MAGIC = re.compile(r"(?<!\\)[][{}*?]")


def fingerprint_locations(locations: Sequence[Location]) -> str | None:
    """Return the digest of the files at locations, None when any of these cannot be listed."""
    found: list[FileState] = []
    for location in locations:
        files = list_files(location)
        if files is None:
            return None
        found += files
    return take_fingerprint(found)


def list_files(location: Location) -> list[FileState] | None:
    """Return the files at a location with size and time, None where they cannot be listed."""
    if location.kind == "table":
        return _list_pinned(location)
    if location.kind != "files":
        return None
    if _UNESCAPED_MAGIC.search(location.uri):
        return None
    path = find_local_path(unescape_pattern(location.uri))
    if path is None:
        return None
    try:
        return sorted(_walk(Path(path)))
    except OSError:
        return None


def _list_pinned(location: Location) -> list[FileState] | None:
    """Return the files of a table's version; None where the table could not be asked for one."""
    root = find_local_path(location.uri)
    if root is None or not location.schema:
        return None
    try:
        return sorted(found for name in location.files for found in _walk(Path(root, name)))
    except OSError:
        return None


def _walk(path: Path) -> Iterator[FileState]:
    if path.is_dir():
        for entry in os.scandir(path):
            # Spark reads no file or folder whose name begins like this, but for partitions.
            if entry.name.startswith((".", "_")) and "=" not in entry.name:
                continue
            yield from _walk(Path(entry.path))
    elif path.exists():
        found = path.stat()
        yield FileState(str(path), found.st_size, found.st_mtime_ns // 1_000_000)

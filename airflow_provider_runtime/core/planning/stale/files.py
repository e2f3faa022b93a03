"""The files at locations, as planning can list them: on this machine, and in stores that fsspec knows."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence

from airflow_provider_runtime.core.planning.stale.glob_patterns import expand_pattern
from airflow_provider_runtime.core.planning.stale.stores import Stores
from spark_jobs.contract.addresses import find_local_path, is_glob, is_hidden, unescape_pattern
from spark_jobs.contract.fingerprints import FileState, list_committed, take_fingerprint
from spark_jobs.contract.tables import Location

Lister = Callable[[str], list[FileState] | None]
"""Returns the files at an address of a store; None where they cannot be listed."""


class Fingerprints:
    """Takes fingerprints of files; a store that does not answer is not asked again."""

    def __init__(self, list_stored: Lister | None = None) -> None:
        self._list_stored = list_stored or Stores().list_files

    def take(self, locations: Sequence[Location]) -> str | None:
        """Return the digest of the files at locations, None when any of these cannot be listed."""
        found: list[FileState] = []
        for location in locations:
            files = self.list_files(location)
            if files is None:
                return None
            found += files
        return take_fingerprint(set(found))

    def list_files(self, location: Location) -> list[FileState] | None:
        """Return the files at a location with size and time, None where they cannot be listed."""
        if location.kind == "table":
            # A table that could not be asked for a version has no columns.
            return list_committed(location) if location.schema else None
        if location.kind != "files":
            return None
        if find_local_path(location.uri) is None:
            # Nobody is asked for secrets by a look.
            return None if location.credential_ref else self._list_stored(location.uri)
        return _collect(_walk(os.path.normpath(path)) for path in _list_matches(location.uri))


def _list_matches(uri: str) -> Iterable[str]:
    if not is_glob(uri):
        return [find_local_path(unescape_pattern(uri)) or ""]
    return dict.fromkeys(
        match
        for pattern in expand_pattern(find_local_path(uri) or "")
        for match in glob.iglob(pattern)
        if not is_hidden(os.path.basename(match))
    )


def _collect(walks: Iterable[Iterator[FileState]]) -> list[FileState] | None:
    try:
        return sorted(found for walk in walks for found in walk)
    except OSError:
        return None


def _walk(path: str) -> Iterator[FileState]:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(found.st_mode):
        for entry in os.scandir(path):
            if not is_hidden(entry.name):
                yield from _walk(entry.path)
    else:
        yield FileState(path, found.st_size, found.st_mtime_ns // 1_000_000)

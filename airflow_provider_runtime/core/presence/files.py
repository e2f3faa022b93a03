"""Whether there are files at a location, which may be a pattern of Hadoop's."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Protocol

from airflow_provider_runtime.core.planning.stale.glob_patterns import expand_pattern
from spark_jobs.contract.addresses import find_local_path, is_glob, is_hidden, unescape_pattern


class Store(Protocol):
    """A place for files; what fsspec's file systems have of it."""

    def glob(self, path: str) -> list[str]:
        """Return what a pattern stands for, in the spelling of `walk`."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""

    def isfile(self, path: str) -> bool:
        """Return whether a path is a file."""

    def walk(self, path: str) -> Iterable[tuple[str, list[str], list[str]]]:
        """Yield each folder at and below a path with the names of its folders and files."""


class LocalFiles:
    """The files of this machine."""

    def glob(self, path: str) -> list[str]:
        """Return what a pattern stands for."""
        return glob.glob(_strip(path))

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        return os.path.exists(_strip(path))

    def isfile(self, path: str) -> bool:
        """Return whether a path is a file."""
        return os.path.isfile(_strip(path))

    def walk(self, path: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield each folder at and below a path with the names of its folders and files."""
        return os.walk(_strip(path))


def has_files(store: Store, uri: str) -> bool:
    """Return whether a location holds at least one file that Spark would read."""
    return any(_has_file(store, path) for path in _list_paths(store, uri))


def _list_paths(store: Store, uri: str) -> Iterator[str]:
    if not is_glob(uri):
        yield from filter(store.exists, [unescape_pattern(uri)])
        return
    for pattern in expand_pattern(uri):
        yield from (path for path in store.glob(pattern) if not is_hidden(path.rpartition("/")[2]))


def _has_file(store: Store, path: str) -> bool:
    if store.isfile(path):
        return True
    for folder, folders, files in store.walk(path):
        inner = folder.rstrip("/").removeprefix(path.rstrip("/")).split("/")
        if any(is_hidden(name) for name in inner):
            folders.clear()
        elif any(not is_hidden(name) for name in files):
            return True
    return False


def _strip(path: str) -> str:
    local = find_local_path(path)
    return path if local is None else local

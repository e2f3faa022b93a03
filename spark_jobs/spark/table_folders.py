"""Folders of Iceberg and Delta tables: as plain files they would show rows of all versions together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from spark_jobs.spark.storage import Storage, join_uri, split_uri

_AT_ONCE = 16
_LEVELS = 3
"""How far above a file its table may be: writers make folders of their own below the table's."""


def find_table_folder(storage: Storage, folders: Iterable[str]) -> tuple[str, str] | None:
    """Return the folder and the format of the first table in which one of these folders is, or which it is."""
    places = dict.fromkeys(place for folder in folders for place in _list_above(folder))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = zip(places, pool.map(lambda place: _find_format(storage, place), places), strict=True)
        return next(((place, format_) for place, format_ in found if format_ is not None), None)


def _find_format(storage: Storage, folder: str) -> str | None:
    if storage.exists(join_uri(folder, "_delta_log")):
        return "delta"
    metadata = storage.list(join_uri(folder, "metadata"))
    return "iceberg" if any(entry.name.endswith(".metadata.json") for entry in metadata) else None


def list_folders(files: Iterable[str]) -> list[str]:
    """Return the folders of files, without those that are partitions."""
    folders = dict.fromkeys(split_uri(unquote(file))[0] for file in files)
    return list(dict.fromkeys(map(_leave_partitions, folders)))


def _leave_partitions(folder: str) -> str:
    above, name = split_uri(folder)
    while above and "=" in name:
        folder, (above, name) = above, split_uri(above)
    return folder


def _list_above(folder: str) -> Iterator[str]:
    for _ in range(_LEVELS + 1):
        if not folder:
            return
        yield folder
        folder = split_uri(folder)[0]

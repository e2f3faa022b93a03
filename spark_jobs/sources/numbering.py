"""Positions of rows in Parquet files: a hash of the file's path, and the row's place in that file.

A hash and not a number of the file, so that a new file does not renumber the rows of the others. The driver looks at
all files of a table and takes a salt with which no two of them have the same hash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.contract.addresses import is_glob
from spark_jobs.contract.sql import quote_text
from spark_jobs.rows.hashing import xxhash64

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.sources.raw_rows import RawRows

ROW_INDEX_BITS = 34
HASH_BITS = 28
SALTS = 256
_ESCAPED = re.compile(r"\\(.)")
_LISTED, _NAMED = "file:///", "file:/"


@dataclass(frozen=True, slots=True)
class _Folder:
    """A location whose files number their rows."""

    rows: RawRows
    key: str
    """Tells the location from the table's other ones: its period, and its place among those of that period."""
    begin: int
    """Where the part of a file's URI begins that is below the location."""

    @property
    def paths(self) -> list[str]:
        """The files' paths below the location."""
        return [file[self.begin :] for file in self.rows.files]


def number_files(every: list[RawRows]) -> list[RawRows]:
    """Give the rows of Parquet files their positions; rows of other sources stay as they are."""
    folders = _list_folders(every)
    paths = [(folder.key, path) for folder in folders for path in folder.paths]
    salt = find_salt(paths) if len(paths) > 1 else 0
    positions = {id(folder.rows): _build_position(folder, f"{salt}:{folder.key}") for folder in folders}
    return [replace(rows, position=positions.get(id(rows), rows.position)) for rows in every]


def _list_folders(every: Iterable[RawRows]) -> list[_Folder]:
    seen: dict[str, int] = {}
    folders = []
    for rows in every:
        if not rows.location.holds_parquet or (rows.location.kind == "table" and not rows.files):
            continue
        period = rows.location.period or ""
        key = f"{period}/{seen.setdefault(period, 0)}"
        begin = _find_relative_begin(rows.location.uri, rows.files)
        folders.append(_Folder(rows, key, begin))
        seen[period] += 1
    return folders


def _build_position(folder: _Folder, salted_key: str) -> str:
    file_hash = build_hash(quote_text(salted_key), _build_relative_path(folder))
    return f"shiftleft({file_hash}, {ROW_INDEX_BITS}) | _metadata.row_index"


def _build_relative_path(folder: _Folder) -> str:
    """Return SQL of a file's path below the location, in the form of a URI."""
    if all("/" not in path and unquote(path) == path for path in folder.paths):
        # The same text, and nothing to cut for each row.
        return "_metadata.file_name"
    # Spark lists local files as file:///folder and names them file:/folder in the metadata.
    shift = f" - IF(startswith(_metadata.file_path, '{_LISTED}'), 0, {len(_LISTED) - len(_NAMED)})"
    shift = shift if folder.rows.files[0].startswith(_LISTED) else ""
    return f"substring(CAST(_metadata.file_path AS binary), {folder.begin + 1}{shift})"


def build_hash(salted_key: str, path: str) -> str:
    """Return SQL of a file's hash, from the SQL of its location's key with the salt, and of its path."""
    return f"(xxhash64({salted_key}, {path}) & {(1 << HASH_BITS) - 1}L)"


def find_salt(paths: list[tuple[str, str]]) -> int:
    """Return the first salt with which no two files have the same hash, as the SQL above computes it."""
    for salt in range(SALTS):
        hashes = {xxhash64(f"{salt}:{key}", path) & (1 << HASH_BITS) - 1 for key, path in paths}
        if len(hashes) == len(paths):
            return salt
    raise ValueError("no salt distinguishes the files")


def _find_relative_begin(uri: str, files: tuple[str, ...]) -> int:
    """Return where the part of a file's URI begins that is below the location."""
    if not files:
        return 0
    path = uri.partition("://")[2].partition("/")[2] if "://" in uri else uri
    location = [part for part in unquote(path).split("/") if part]
    pattern = next((index for index, part in enumerate(location) if is_glob(part)), len(location))
    stem = [_ESCAPED.sub(r"\1", part) for part in location[:pattern]]
    parts = files[0].split("/")
    plain = [unquote(part) for part in parts]
    for index in range(len(parts) - len(stem), -1, -1):
        if plain[index : index + len(stem)] == stem:
            depth = min(index + len(stem), len(parts) - 1)
            return len("/".join(parts[:depth])) + 1
    return 0

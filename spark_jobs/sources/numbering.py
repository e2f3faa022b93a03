"""Positions of rows in Parquet files: a hash of the file's path, and the row's place in that file.

A hash and not a number of the file, so that a new file does not renumber the rows of the others. The driver looks at
all files of a table and takes a salt with which no two of them have the same hash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from spark_jobs.errors import quote_text
from spark_jobs.hashing import xxhash64

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.sources.relation import Relation

ROW_INDEX_BITS = 34
HASH_BITS = 28
SALTS = 256
_LISTED, _NAMED = "file:///", "file:/"


def number_files(relations: list[Relation]) -> list[Relation]:
    """Give the rows of Parquet files their positions; locations are told apart by period and place in the list."""
    keys = _make_keys(relations)
    begins = [_find_relative_begin(relation) for relation in relations]
    paths = [
        (key, file[begin:])
        for relation, key, begin in zip(relations, keys, begins, strict=True)
        for file in relation.files
    ]
    salt = find_salt(paths) if len(paths) > 1 else 0
    return [
        replace(relation, position=_build_position(relation, begin, f"{salt}:{key}"))
        for relation, key, begin in zip(relations, keys, begins, strict=True)
    ]


def _make_keys(relations: Iterable[Relation]) -> list[str]:
    seen: dict[str, int] = {}
    keys = []
    for relation in relations:
        period = relation.location.period or ""
        keys.append(f"{period}/{seen.setdefault(period, 0)}")
        seen[period] += 1
    return keys


def _build_position(relation: Relation, begin: int, salted_key: str) -> str:
    # Spark lists local files as file:///folder and names them file:/folder in the metadata.
    shift = f" - IF(startswith(_metadata.file_path, '{_LISTED}'), 0, {len(_LISTED) - len(_NAMED)})"
    shift = shift if relation.files and relation.files[0].startswith(_LISTED) else ""
    relative = f"substring(CAST(_metadata.file_path AS binary), {begin + 1}{shift})"
    return f"shiftleft({build_hash(quote_text(salted_key), relative)}, {ROW_INDEX_BITS}) | _metadata.row_index"


def build_hash(salted_key: str, path: str) -> str:
    """Return SQL of a file's hash, from the SQL of its location's key with the salt, and of its path."""
    return f"(xxhash64({salted_key}, {path}) & {(1 << HASH_BITS) - 1}L)"


def find_salt(paths: list[tuple[str, str]]) -> int:
    """Return the first salt with which no two files have the same hash, as the SQL above computes it."""
    for salt in range(SALTS):
        hashes = {xxhash64(f"{salt}:{key}", path) & (1 << HASH_BITS) - 1 for key, path in paths}
        if len(hashes) == len(paths):
            return salt
    raise ValueError("no salt tells the files apart")


def _find_relative_begin(relation: Relation) -> int:
    """Return where the part of a file's URI begins that lies below the location."""
    if not relation.files:
        return 0
    uri = relation.location.uri
    location = [part for part in unquote(urlparse(uri).path if "://" in uri else uri).split("/") if part]
    stem = location[: next((index for index, part in enumerate(location) if set(part) & set("*?[{")), len(location))]
    parts = relation.files[0].split("/")
    plain = [unquote(part) for part in parts]
    for index in range(len(parts) - len(stem), -1, -1):
        if plain[index : index + len(stem)] == stem:
            depth = min(index + len(stem), len(parts) - 1)
            return len("/".join(parts[:depth])) + 1
    return 0

"""Positions of rows in Parquet files: a hash of the file's path, and the row's place in that file.

A hash and not a number of the file, so that a new file does not renumber the rows of the others. The driver looks at
all files of a table and takes a salt with which no two of them have the same hash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from spark_jobs.errors import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from spark_jobs.sources.relation import Relation

ROW_INDEX_BITS = 34
HASH_BITS = 28
SALTS = 256
PATHS_A_STATEMENT = 2000
_LISTED, _NAMED = "file:///", "file:/"


def number_files(spark: SparkSession, relations: list[Relation]) -> list[Relation]:
    """Give the rows of Parquet files their positions; locations are told apart by period and place in the list."""
    keys = _make_keys(relations)
    begins = [_find_relative_begin(relation) for relation in relations]
    paths = [
        (key, file[begin:])
        for relation, key, begin in zip(relations, keys, begins, strict=True)
        for file in relation.files
    ]
    salt = find_salt(spark, paths)
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


def find_salt(spark: SparkSession, paths: list[tuple[str, str]]) -> int:
    """Return the first salt with which no two files have the same hash; computed by the driver's own optimizer."""
    if len(paths) < 2:
        return 0
    for salt in range(SALTS):
        hashes: set[int] = set()
        for start in range(0, len(paths), PATHS_A_STATEMENT):
            some = paths[start : start + PATHS_A_STATEMENT]
            values = ", ".join(f"({quote_text(f'{salt}:{key}')}, {quote_text(path)})" for key, path in some)
            hashed = build_hash("key", "CAST(path AS binary)")
            rows = spark.sql(f"SELECT {hashed} FROM VALUES {values} AS t(key, path)").collect()
            hashes.update(row[0] for row in rows)
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

"""Columns that the names of folders give, as `period=2026-01/` does.

Spark reads such a column from the folder and passes over the one of the same name in the files, so a table that has
both would be read wrong without a word.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import get_option, merge_options
from spark_jobs.sources.raw_rows import ColumnMismatchError, RawRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_BOTH = "is in the files, and in the names of their folders, which would take its place"
HINT = "write the files without the column, or give the folders another name"
_WITHOUT_FOLDERS = {"recursiveFileLookup": "true"}
MERGES_SCHEMAS = ("parquet", "orc")
_MOST_OPENED_AT_ONCE = 8
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def list_folder_values(uri: str, file: str) -> dict[str, str]:
    """Return names and values that the folders between a location and one of its files give."""
    if "=" not in file and "%" not in file:
        return {}
    parts = [unquote(part) for part in _split_path(file)]
    folders = parts[len(_split_path(uri)) : -1]
    # What a folder's name has for characters that no file system takes.
    pairs = [unquote(folder).partition("=") for folder in folders if "=" in folder]
    return {name: value for name, _, value in pairs}


def refuse_overridden(spark: SparkSession, rows: RawRows, names: Collection[str], periods: Mapping[str, str]) -> None:
    """Raise ColumnMismatchError for a column that folders name and that a file has as well.

    `periods` are the values of columns by which whole folders are passed over: only the others are looked into.
    """
    values = _list_values(rows)
    suspects = _find_suspects(values, names)
    if not suspects:
        return
    read = [
        file for file, found in values.items() if all(found.get(key, value) == value for key, value in periods.items())
    ]
    overridden = suspects & _list_file_columns(spark, rows, read)
    if overridden:
        raise ColumnMismatchError(dict.fromkeys(sorted(overridden), IN_BOTH), HINT)


def take_folder_values(spark: SparkSession, rows: RawRows, names: Sequence[str]) -> RawRows:
    """Return rows of JSON, of which each fails when it is read that has a key which folders name as well."""
    suspects = _find_suspects(_list_values(rows), names)
    if not suspects:
        return rows
    schema = StructType([StructField(name, StringType()) for name in names])
    alone = merge_options(rows.options, _WITHOUT_FOLDERS)
    frame = spark.read.format(rows.location.format).options(**alone).schema(schema).load(rows.location.uri)
    return replace(rows, frame=frame, folder_values={name: _build_folder_value(name) for name in suspects})


def _list_values(rows: RawRows) -> dict[str, dict[str, str]]:
    if (get_option(rows.options, "recursiveFileLookup") or "").lower() == "true":
        return {}
    base = get_option(rows.options, "basePath") or rows.location.uri
    return {file: list_folder_values(base, file) for file in rows.files}


def _find_suspects(values: Mapping[str, Mapping[str, str]], names: Collection[str]) -> set[str]:
    return {name for found in values.values() for name in found} & set(names)


def _list_file_columns(spark: SparkSession, rows: RawRows, files: Iterable[str]) -> set[str]:
    """Return the columns that any of the files has; nothing is read but what describes them."""
    paths = [escape_pattern(unquote(file)) for file in files]
    kind = rows.location.format
    if kind == "csv":
        # Its files have one header, or are refused while they are read.
        paths = paths[:1]
    alone = merge_options(rows.options, _WITHOUT_FOLDERS)

    def list_columns(*together: str, **more: str) -> set[str]:
        return set(spark.read.format(kind).options(**alone, **more).load([*together]).columns)

    if kind in MERGES_SCHEMAS and len(paths) > 1:
        # Types that differ from file to file are not what is asked here.
        with contextlib.suppress(PySparkException):
            return list_columns(*paths, mergeSchema="true")
    with ThreadPoolExecutor(max_workers=_MOST_OPENED_AT_ONCE) as pool:
        return set().union(*pool.map(list_columns, paths))


def _build_folder_value(name: str) -> str:
    """Return SQL of what the folder says: escaped once by Spark for the file system, and once in the file's URI."""
    value = f"regexp_extract(_metadata.file_path, '.*/{name}=([^/]*)/', 1)"
    for _ in range(2):
        value = f"url_decode(replace({value}, '+', '%2B'))"
    return f"nullif({value}, '{_NULL_FOLDER}')"


def _split_path(uri: str) -> list[str]:
    path = uri.partition("://")[2].partition("/")[2] if "://" in uri else re.sub(r"^file:", "", uri)
    return [part for part in path.split("/") if part not in ("", ".")]

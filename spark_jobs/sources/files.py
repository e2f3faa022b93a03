"""Files of every format that Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.columns import TextFormats
from spark_jobs.errors import quote_text
from spark_jobs.hashing import xxhash64
from spark_jobs.sources.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from spark_jobs.snapshot import Location

CSV_OPTIONS = {
    "header": "true",
    "mode": "FAILFAST",
    "enforceSchema": "false",
    "columnPruning": "false",
    # Nothing between two delimiters is NULL, and "" is the empty text; Spark's default takes both for NULL.
    "nullValue": "\x01NULL\x01",
    # A quote inside quotes is doubled, as everybody but Spark writes it.
    "escape": '"',
}
JSON_OPTIONS = {"mode": "FAILFAST"}
ROW_INDEX_BITS = 34
HASH_BITS = 28
_LISTED, _NAMED = "file:///", "file:/"
_MISSING = {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "DATA_SOURCE_NOT_FOUND_PATH"}


class MissingDataError(Exception):
    """There is nothing at a location."""


def read_files(
    spark: SparkSession, location: Location, *, names: Iterable[str], key: str | None, credentials: Mapping[str, str]
) -> Relation:
    """Return the rows at a location; `key` tells it from the table's other locations, None when nobody numbers."""
    options = {**location.options, **credentials}
    try:
        if location.format == "csv":
            return _read_csv(spark, location, options, list(names))
        if location.format == "json":
            return _read_json(spark, location, options, names)
        frame = _load(spark.read.format(location.format).options(**options), location)
    except PySparkException as error:
        if (error.getCondition() or "").split(".")[0] in _MISSING:
            raise MissingDataError(location.uri) from error
        raise
    position = _number_rows(frame, location, key) if location.format == "parquet" and key is not None else None
    return Relation(frame, location, position=position)


def _load(reader: DataFrameReader, location: Location) -> DataFrame:
    return reader.load(location.uri)


def _read_csv(spark: SparkSession, location: Location, options: Mapping[str, str], names: list[str]) -> Relation:
    """Values stay texts, so that a malformed one is an error and not a NULL."""
    settings = {**CSV_OPTIONS, **options}
    settings.pop("inferSchema", None)
    frame = _load(spark.read.format("csv").options(**settings), location)
    if str(settings["header"]).lower() != "true" and len(frame.columns) == len(names):
        frame = frame.toDF(*names)
    return Relation(frame, location, is_text=True, formats=_read_formats(options, empty_is_null=True))


def _read_json(spark: SparkSession, location: Location, options: Mapping[str, str], names: Iterable[str]) -> Relation:
    schema = StructType([StructField(name, StringType()) for name in names])
    frame = _load(spark.read.format("json").schema(schema).options(**{**JSON_OPTIONS, **options}), location)
    if not frame.inputFiles():
        raise MissingDataError(location.uri)
    return Relation(frame, location, is_text=True, formats=_read_formats(options))


def _read_formats(options: Mapping[str, str], *, empty_is_null: bool = False) -> TextFormats:
    lower = {key.lower(): value for key, value in options.items()}
    return TextFormats(lower.get("dateformat"), lower.get("timestampformat"), empty_is_null)


def _number_rows(frame: DataFrame, location: Location, key: str) -> str:
    """Position of a row: a hash of its file's path below the location, and its place in that file.

    A hash and not a number of the file, so that a new file does not renumber the rows of the others. Two files of
    one hash get another salt, which is tried out here.
    """
    files = frame.inputFiles()
    begin = _find_relative_begin(files[0], location.uri) if files else 0
    # Spark lists local files as file:///folder and names them file:/folder in the metadata.
    shift = f" - IF(startswith(_metadata.file_path, '{_LISTED}'), 0, {len(_LISTED) - len(_NAMED)})"
    shift = shift if files and files[0].startswith(_LISTED) else ""
    relative = f"substring(CAST(_metadata.file_path AS binary), {begin + 1}{shift})"
    salt = _find_salt({file[begin:] for file in files}, key) if len(files) > 1 else 0
    hashed = f"xxhash64({quote_text(_name_key(key, salt))}, {relative}) & {(1 << HASH_BITS) - 1}L"
    return f"shiftleft({hashed}, {ROW_INDEX_BITS}) | _metadata.row_index"


def _name_key(key: str, salt: int) -> str:
    return f"{salt}:{key}"


def _find_salt(paths: set[str], key: str) -> int:
    """Return the first salt with which no two files have the same hash."""
    for salt in range(64):
        hashes = {xxhash64(_name_key(key, salt), path) & (1 << HASH_BITS) - 1 for path in paths}
        if len(hashes) == len(paths):
            return salt
    raise ValueError("no salt tells the files apart")


def _find_relative_begin(file: str, uri: str) -> int:
    """Return where the part of a file's URI begins that lies below the location."""
    location = [part for part in unquote(urlparse(uri).path if "://" in uri else uri).split("/") if part]
    stem = location[: next((index for index, part in enumerate(location) if set(part) & set("*?[{")), len(location))]
    parts = file.split("/")
    plain = [unquote(part) for part in parts]
    for index in range(len(parts) - len(stem), -1, -1):
        if plain[index : index + len(stem)] == stem:
            depth = min(index + len(stem), len(parts) - 1)
            return len("/".join(parts[:depth])) + 1
    return 0

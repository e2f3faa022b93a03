"""Files of every format that Spark knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.options import NO_FILE_LEFT_OUT, STRICT, VERIFIED, drop_options, get_option, merge_options
from spark_jobs.sources.columns import TextFormats
from spark_jobs.sources.folder_columns import MERGES_SCHEMAS, refuse_overridden, take_folder_values
from spark_jobs.sources.json_halves import read_lines
from spark_jobs.sources.parquet import read_parquet
from spark_jobs.sources.raw_rows import MissingDataError, RawRows, TableFolderError
from spark_jobs.sources.seen_files import look_at_files
from spark_jobs.spark.jvm import is_connect
from spark_jobs.spark.storage import open_storage
from spark_jobs.spark.table_folders import find_table_folder, list_folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.tables import Location
    from spark_jobs.sources.columns import Wanted

CSV_OPTIONS = {
    "header": "true",
    # Nothing between two delimiters is NULL, and "" is the empty text; Spark's default takes both for NULL.
    "nullValue": "\x01NULL\x01",
    # A quote inside quotes is doubled, as every tool but Spark writes it; one that is not doubled is an error.
    "escape": '"',
    "unescapedQuoteHandling": "RAISE_ERROR",
}
_MISSING = {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "DATA_SOURCE_NOT_FOUND_PATH"}
_FILE_NAME = "_metadata.file_path"


def read_files(
    spark: SparkSession,
    location: Location,
    wanted: tuple[Wanted, ...],
    credentials: Mapping[str, str],
    periods: Mapping[str, str],
) -> RawRows:
    """Return the rows at a location; `periods` are the values of columns by which whole folders are passed over."""
    options = drop_options(merge_options(location.options, credentials), *NO_FILE_LEFT_OUT)
    try:
        rows = _read(spark, location, options, wanted)
        files = tuple(rows.frame.inputFiles())
        _refuse_tables(spark, location, files)
        frame = _find_later_columns(spark, rows, wanted) if len(files) > 1 else rows.frame
        rows = replace(rows, frame=frame, files=files, seen_files=look_at_files(rows.frame, files))
        names = [column.name for column in wanted]
        if location.format == "json":
            if not rows.files:
                raise MissingDataError(location.uri)
            return take_folder_values(spark, rows, names)
        refuse_overridden(spark, rows, names, periods)
        return rows
    except PySparkException as error:
        if (error.getCondition() or "").split(".")[0] in _MISSING:
            raise MissingDataError(location.uri) from error
        raise


def _refuse_tables(spark: SparkSession, location: Location, files: tuple[str, ...]) -> None:
    """Raise TableFolderError for files of an Iceberg or Delta table; a server's stores are not looked into."""
    if location.format not in MERGES_SCHEMAS or not files or (is_connect(spark) and not is_local(files[0])):
        return
    found = find_table_folder(open_storage(files[0], spark), list_folders(files))
    if found is not None:
        raise TableFolderError(*found)


def _read(spark: SparkSession, location: Location, options: Mapping[str, str], wanted: tuple[Wanted, ...]) -> RawRows:
    if location.format == "csv":
        return _read_csv(spark, location, options, [column.name for column in wanted if not column.optional])
    if location.format == "json":
        return _read_json(spark, location, options, [column.name for column in wanted])
    if location.format == "parquet":
        options = merge_options(options, VERIFIED)
        return RawRows(read_parquet(spark, location, options, wanted), location, options=options)
    if location.format == "xml":
        options = merge_options(options, STRICT["xml"])
    frame = spark.read.format(location.format).options(**options).load(location.uri)
    return RawRows(frame, location, options=options)


def _find_later_columns(spark: SparkSession, rows: RawRows, wanted: tuple[Wanted, ...]) -> DataFrame:
    """Look for columns into all files where the one that Spark has taken the schema from lacks some."""
    kind, present = rows.location.format, rows.frame.columns
    if kind not in MERGES_SCHEMAS or all(column.optional or column.name in present for column in wanted):
        return rows.frame
    try:
        return spark.read.format(kind).options(**rows.options, mergeSchema="true").load(rows.location.uri)
    except PySparkException:
        # Files with types that differ: what is missing is reported for the file that Spark has chosen.
        return rows.frame


def _read_csv(spark: SparkSession, location: Location, options: Mapping[str, str], names: list[str]) -> RawRows:
    """Values stay texts, so that a malformed one is an error and not a NULL."""
    if (get_option(options, "unescapedQuoteHandling") or "").upper() == "SKIP_VALUE":
        # It has NULL in place of such a value.
        options = drop_options(options, "unescapedQuoteHandling")
    settings = drop_options(merge_options(CSV_OPTIONS, options, STRICT["csv"]), "inferSchema")
    # Else U+0000 escapes a quote where a quote does too, and is lost; of other characters Spark takes the same.
    settings = merge_options({"charToEscapeQuoteEscaping": get_option(settings, "escape") or ""}, settings)
    frame = spark.read.format("csv").options(**settings).load(location.uri)
    if str(get_option(settings, "header")).lower() != "true" and len(frame.columns) == len(names):
        frame = frame.toDF(*names)
    # Spark's CSV reader replaces bytes that it cannot decode by U+FFFD; its JSON reader refuses them.
    formats = _read_formats(frame, options, empty_is_null=True, was_decoded=True)
    return RawRows(frame, location, is_text=True, formats=formats, options=settings)


def _read_json(spark: SparkSession, location: Location, options: Mapping[str, str], names: list[str]) -> RawRows:
    schema = StructType([StructField(name, StringType()) for name in names])
    settings = merge_options(options, STRICT["json"])
    if {"encoding", "charset"} & {key.lower() for key in options}:
        # Spark looks for the ends of lines by itself in UTF-8 only.
        settings = merge_options({"lineSep": "\n"}, settings)
    frame = spark.read.format("json").schema(schema).options(**settings).load(location.uri)
    lines = read_lines(spark, location.uri, options)
    formats = _read_formats(frame, options)
    return RawRows(frame, location, is_text=True, formats=formats, options=settings, json_lines=lines)


def _read_formats(
    frame: DataFrame, options: Mapping[str, str], *, empty_is_null: bool = False, was_decoded: bool = False
) -> TextFormats:
    file = _FILE_NAME if "_metadata" not in frame.columns else None
    return TextFormats(
        get_option(options, "dateFormat"), get_option(options, "timestampFormat"), empty_is_null, was_decoded, file
    )

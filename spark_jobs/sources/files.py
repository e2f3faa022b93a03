"""Files of every format that Spark knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_jobs.contract.options import VERIFIED, drop_options, get_option, merge_options
from spark_jobs.sources.columns import TextFormats
from spark_jobs.sources.relation import MissingDataError, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from spark_jobs.contract.plan import Location
    from spark_jobs.sources.columns import Wanted

STRICT = {"mode": "FAILFAST"}
"""In its other modes Spark leaves out what it cannot read, so that no option of a datasource changes this one."""
STRICT_CSV = {
    **STRICT,
    # Or files whose headers differ have their columns mixed up.
    "enforceSchema": "false",
    # Or nobody sees that a line has values too few or too many.
    "columnPruning": "false",
}
LOOSE = ("ignoreCorruptFiles", "ignoreMissingFiles")
"""Options that leave out files; the session has them off."""
CSV_OPTIONS = {
    "header": "true",
    # Nothing between two delimiters is NULL, and "" is the empty text; Spark's default takes both for NULL.
    "nullValue": "\x01NULL\x01",
    # A quote inside quotes is doubled, as everybody but Spark writes it; one that is not is no text to guess at.
    "escape": '"',
    "unescapedQuoteHandling": "RAISE_ERROR",
}
_MISSING = {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "DATA_SOURCE_NOT_FOUND_PATH"}
_FILE_NAME = "_metadata.file_path"
_one_at_a_time = Lock()
"""Tables are opened side by side, and the setting below is the session's."""


class UnreadableTypesError(Exception):
    """Columns of a file are of types that Spark does not know."""

    def __init__(self, columns: list[str]) -> None:
        super().__init__(", ".join(columns))
        self.columns = columns


def read_files(
    spark: SparkSession, location: Location, wanted: tuple[Wanted, ...], credentials: Mapping[str, str]
) -> Relation:
    """Return the rows at a location."""
    options = drop_options(merge_options(location.options, credentials), *LOOSE)
    try:
        if location.format == "csv":
            return _read_csv(spark, location, options, [column.name for column in wanted if not column.optional])
        if location.format == "json":
            return _read_json(spark, location, options, [column.name for column in wanted])
        if location.format == "parquet":
            options = merge_options(options, VERIFIED)
        elif location.format == "xml":
            options = merge_options(options, STRICT)
        reader = spark.read.format(location.format).options(**options)
        frame = _load_typed(spark, reader, location, wanted)
    except PySparkException as error:
        if (error.getCondition() or "").split(".")[0] in _MISSING:
            raise MissingDataError(location.uri) from error
        raise
    return Relation(frame, location)


def _load(reader: DataFrameReader, location: Location) -> DataFrame:
    return reader.load(location.uri)


def _load_typed(
    spark: SparkSession, reader: DataFrameReader, location: Location, wanted: tuple[Wanted, ...]
) -> DataFrame:
    """Columns that nobody wants may have types that Spark does not know: timestamps of nanoseconds."""
    try:
        return _load(reader, location)
    except PySparkException as error:
        if error.getCondition() != "PARQUET_TYPE_ILLEGAL" or "NANOS" not in str(error):
            raise
    with _nanoseconds_as_numbers(spark):
        fields = {field.name: field for field in _load(reader, location).schema.fields}
    needed = [column for column in wanted if column.name in fields]
    unknown = [
        column.name
        for column in needed
        if isinstance(fields[column.name].dataType, LongType) and column.type in ("timestamp", "date")
    ]
    if unknown:
        raise UnreadableTypesError(unknown)
    return _load(reader.schema(StructType([fields[column.name] for column in needed])), location)


@contextmanager
def _nanoseconds_as_numbers(spark: SparkSession) -> Iterator[None]:
    key = "spark.sql.legacy.parquet.nanosAsLong"
    with _one_at_a_time:
        spark.conf.set(key, "true")
        try:
            yield
        finally:
            spark.conf.unset(key)


def _read_csv(spark: SparkSession, location: Location, options: Mapping[str, str], names: list[str]) -> Relation:
    """Values stay texts, so that a malformed one is an error and not a NULL."""
    if (get_option(options, "unescapedQuoteHandling") or "").upper() == "SKIP_VALUE":
        # It has NULL in place of such a value.
        options = drop_options(options, "unescapedQuoteHandling")
    settings = drop_options(merge_options(CSV_OPTIONS, options, STRICT_CSV), "inferSchema")
    # Else U+0000 escapes a quote where a quote does too, and is lost; of other characters Spark takes the same.
    settings = merge_options({"charToEscapeQuoteEscaping": get_option(settings, "escape") or ""}, settings)
    frame = _load(spark.read.format("csv").options(**settings), location)
    if str(get_option(settings, "header")).lower() != "true" and len(frame.columns) == len(names):
        frame = frame.toDF(*names)
    # Spark's reader of CSV puts U+FFFD for bytes that are none of the encoding; its reader of JSON refuses them.
    formats = _read_formats(frame, options, empty_is_null=True, was_decoded=True)
    return Relation(frame, location, is_text=True, formats=formats)


def _read_json(spark: SparkSession, location: Location, options: Mapping[str, str], names: list[str]) -> Relation:
    schema = StructType([StructField(name, StringType()) for name in names])
    settings = merge_options(options, STRICT)
    if {"encoding", "charset"} & {key.lower() for key in options}:
        # Spark looks for the ends of lines by itself in UTF-8 only.
        settings = merge_options({"lineSep": "\n"}, settings)
    frame = _load(spark.read.format("json").schema(schema).options(**settings), location)
    if not frame.inputFiles():
        raise MissingDataError(location.uri)
    return Relation(frame, location, is_text=True, formats=_read_formats(frame, options))


def _read_formats(
    frame: DataFrame, options: Mapping[str, str], *, empty_is_null: bool = False, was_decoded: bool = False
) -> TextFormats:
    file = _FILE_NAME if "_metadata" not in frame.columns else None
    return TextFormats(
        get_option(options, "dateFormat"), get_option(options, "timestampFormat"), empty_is_null, was_decoded, file
    )

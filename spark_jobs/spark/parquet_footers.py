"""What the footers of Parquet files say: rows, NULLs and types."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.spark.jvm import (
    Py4JJavaError,
    as_os_errors,
    get_hadoop_configuration,
    get_java,
    get_sql_settings,
    is_connect,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def count_parquet_rows(spark: SparkSession, uri: str) -> int:
    """Return the number of rows of one Parquet file, as its footer says."""
    if is_connect(spark):
        # Spark answers this from the footer as well.
        return spark.read.parquet(escape_pattern(uri)).count()
    with _open_parquet(spark, uri) as reader:
        return int(reader.getRecordCount())


def count_parquet_nulls(spark: SparkSession, uri: str, columns: Sequence[str]) -> dict[str, int] | None:
    """Return in how many rows of one Parquet file each column is NULL; None when its footer does not say."""
    if is_connect(spark):
        return None
    totals = dict.fromkeys(columns, 0)
    with _open_parquet(spark, uri) as reader:
        for block in reader.getFooter().getBlocks():
            for chunk in block.getColumns():
                name = chunk.getPath().toDotString()
                if name not in totals:
                    continue
                statistics = chunk.getStatistics()
                if statistics is None or not statistics.isNumNullsSet():
                    return None
                totals[name] += int(statistics.getNumNulls())
    return totals


def describe_parquet(
    spark: SparkSession, uri: str, names: Collection[str]
) -> dict[str, tuple[str, dict[str, Any] | None]]:
    """Return of each named column that a Parquet file has its type there, and Spark's field; None if Spark has none."""
    java = get_java(spark)
    with _open_parquet(spark, uri) as reader:
        schema = reader.getFooter().getFileMetaData().getSchema()
        settings = get_sql_settings(spark)
        convert = java.org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter(
            settings
        ).convert
        found: dict[str, tuple[str, dict[str, Any] | None]] = {}
        for field in schema.getFields():
            name = str(field.getName())
            if name not in names:
                continue
            alone = java.org.apache.parquet.schema.MessageType(schema.getName(), [field])
            try:
                converted = json.loads(convert(alone).json())["fields"][0]
            except (Py4JJavaError, PySparkException):
                converted = None
            if converted is not None and str(converted["type"]).startswith("time("):
                # Spark 4.2 has the type, and refuses to read it.
                converted = None
            found[name] = (_describe_parquet_type(field), converted)
        return found


def _describe_parquet_type(field: Any) -> str:
    annotation = field.getLogicalTypeAnnotation()
    if annotation is not None:
        return str(annotation.toString())
    return str(field.asPrimitiveType().getPrimitiveTypeName().toString()) if field.isPrimitive() else "group"


@contextmanager
def _open_parquet(spark: SparkSession, uri: str) -> Iterator[Any]:
    java = get_java(spark)
    with as_os_errors():
        file = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
            java.org.apache.hadoop.fs.Path(uri), get_hadoop_configuration(spark)
        )
        reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            yield reader
        finally:
            reader.close()

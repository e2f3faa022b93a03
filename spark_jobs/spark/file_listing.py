"""The files that Spark has listed for a frame, and those that are in its folders now: path, size, time and tag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spark_jobs.spark.jvm import as_os_errors, get_file_index, get_hadoop_configuration, get_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE_STATUS = re.compile(
    r"Status\{path=(?P<path>[^\n]*?); isDirectory=false; length=(?P<size>\d+);"
    r"[^\n]*?modification_time=(?P<millis>\d+);(?:[^\n]*?eTag='(?P<tag>[^']*)')?"
)


def list_listed_files(frame: DataFrame) -> list[tuple[str, int, int, str]]:
    """Return path, size, milliseconds of the last change, and tag of the files that Spark has listed for a frame."""
    return _parse_statuses(str(get_file_index(frame).allFiles().mkString("\n")))


def list_folder_files(spark: SparkSession, folder: str) -> list[tuple[str, int, int, str]]:
    """Return the same of the files that are in a folder now."""
    java = get_java(spark)
    with as_os_errors():
        path = java.org.apache.hadoop.fs.Path(folder)
        statuses = path.getFileSystem(get_hadoop_configuration(spark)).listStatusIterator(path)
        found = []
        while statuses.hasNext():
            found.append(str(statuses.next().toString()))
    return _parse_statuses("\n".join(found))


def _parse_statuses(text: str) -> list[tuple[str, int, int, str]]:
    """Read what Hadoop says of files: one text for all, as asking for each number of each file would take long."""
    return [
        (match["path"], int(match["size"]), int(match["millis"]), match["tag"] or "")
        for match in _FILE_STATUS.finditer(text)
    ]

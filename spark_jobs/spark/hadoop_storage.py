"""File systems that Hadoop knows, through the driver's JVM."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

from spark_jobs.spark.jvm import as_os_errors, get_hadoop_configuration, get_java, make_java_array
from spark_jobs.spark.storage import PARQUET_TAIL, Entry, get_data_length, join_uri, split_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HadoopStorage:
    """Any file system that Hadoop knows."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._java = get_java(spark)
        self._configuration = get_hadoop_configuration(spark)
        self._spark = spark
        with as_os_errors():
            self._files = self._path(uri).getFileSystem(self._configuration)

    def list(self, uri: str) -> list[Entry]:
        """Return what a folder holds, by name; nothing when there is no such folder."""
        try:
            with as_os_errors():
                found = list(self._files.listStatus(self._path(uri)))
        except FileNotFoundError:
            return []
        now = time.time()
        entries = [
            Entry(item.getPath().getName(), item.isDirectory(), item.getLen(), now - item.getModificationTime() / 1000)
            for item in found
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def exists(self, uri: str) -> bool:
        """Return whether there is a file or a folder."""
        with as_os_errors():
            return bool(self._files.exists(self._path(uri)))

    def is_link(self, uri: str) -> bool:
        """Object stores have no links, and Hadoop has switched off those of HDFS."""
        del uri
        return False

    def make_folder(self, uri: str) -> None:
        """Make a folder and those above it, where they are missing."""
        with as_os_errors():
            self._files.mkdirs(self._path(uri))

    def move(self, source: str, target: str) -> None:
        """Rename; a target that exists is an error, never replaced or moved into."""
        self._rename(source, target, "NONE")

    def exchange(self, first: str, second: str) -> bool:
        """Hadoop has no such step."""
        del first, second
        return False

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file."""
        with as_os_errors():
            self._java.org.apache.hadoop.fs.FileUtil.copy(
                self._files, self._path(source), self._files, self._path(target), False, self._configuration
            )

    def delete(self, uri: str) -> None:
        """Remove a file or a folder with all it holds; nothing to remove is fine."""
        with as_os_errors():
            self._files.delete(self._path(uri), True)

    def read_bytes(self, uri: str, limit: int) -> bytes:
        """Return a file's content, cut one byte after the limit."""
        with as_os_errors():
            stream = self._files.open(self._path(uri))
            try:
                return bytes(stream.readNBytes(limit + 1))
            finally:
                stream.close()

    def write_bytes(self, uri: str, content: bytes) -> None:
        """Write a file that appears with its whole content or not at all."""
        folder, name = split_uri(uri)
        aside = join_uri(folder, f".{name}.{secrets.token_hex(4)}")
        with as_os_errors():
            stream = self._files.create(self._path(aside), True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
        self._rename(aside, uri, "OVERWRITE")

    def compute_digest(self, uri: str, *, without_footer: bool = False) -> str | None:
        """Return the checksum that the file system keeps of a file, if it keeps one; S3 has one of whole files only."""
        path = self._path(uri)
        with as_os_errors():
            checksum = (
                self._files.getFileChecksum(path, self._get_data_length(path))
                if without_footer
                else self._files.getFileChecksum(path)
            )
        return None if checksum is None else str(checksum.toString())

    def _get_data_length(self, path: Any) -> int:
        size = int(self._files.getFileStatus(path).getLen())
        stream = self._files.open(path)
        try:
            stream.seek(max(size - PARQUET_TAIL, 0))
            tail = bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()
        return get_data_length(size, tail)

    def _rename(self, source: str, target: str, mode: str) -> None:
        names = self._java.org.apache.hadoop.fs.Options.Rename
        modes = make_java_array(self._spark, names, [getattr(names, mode)])
        with as_os_errors():
            context = self._java.org.apache.hadoop.fs.FileContext.getFileContext(
                self._files.getUri(), self._configuration
            )
            context.rename(self._path(source), self._path(target), modes)

    def _path(self, uri: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(uri)

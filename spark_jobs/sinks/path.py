"""Outputs that are files: staged beside the table, then swapped in atomically where the file system can.

A period is the folder `period=<identifier>/` of the table's folder, and changes places with the folder before it. Files
are never written over, nor do two attempts give one the same name: who has listed the old folder finds the old files or
none, and never reads a new one as far as the old one went.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions
from pyspark.sql.types import DecimalType

from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.options import PLAIN_NAMES, merge_options
from spark_jobs.contract.sql import quote_name
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import StagingArea, make_replaced_error
from spark_jobs.sinks.protocol import StagedPart
from spark_jobs.spark.parquet_footers import count_parquet_nulls, count_parquet_rows
from spark_jobs.spark.storage import Storage, join_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"
# By format: what a decimal is written as, and how many places it may have before that is needed.
_PLAIN_FORM = {"csv": ("string", -1), "json": ("variant", 6)}
# Spark's own format ends with milliseconds.
_EXACT_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
FORMAT_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # A quote inside quotes is doubled, as other readers expect it, and spaces are part of a text.
    "csv": {
        "header": "true",
        "escape": '"',
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        **_EXACT_TIMES,
    },
    "json": {"ignoreNullFields": "false", **_EXACT_TIMES},
}


@dataclass
class StagedFiles:
    """A folder of files that grows while an output is staged."""

    spark: SparkSession
    storage: Storage
    uri: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    """Columns whose values are in the names of folders, and not in the files."""
    rows: int = 0
    _rows_of: dict[str, int] = field(default_factory=dict)
    _early: frozenset[str] = frozenset()

    def add(self, frame: DataFrame) -> int:
        """Write rows into the folder and return how many there were."""
        writer_options = merge_options(FORMAT_DEFAULTS.get(self.format, {}), self.options, _quiet_options(self.uri))
        if self.format == PARQUET:
            frame.write.mode("append").options(**writer_options).partitionBy(*self.partition_by).parquet(self.uri)
            new = [name for name in self._list_files() if name not in self._rows_of]
            self._rows_of |= {name: count_parquet_rows(self.spark, join_uri(self.uri, name)) for name in new}
            added = sum(self._rows_of[name] for name in new)
            is_lost = not new and not self.partition_by
        else:
            counted = Observation()
            observed = _write_plain_decimals(frame, self.format).observe(
                counted, functions.count(functions.lit(1)).alias("rows")
            )
            observed.write.mode("append").options(**writer_options).format(self.format).save(self.uri)
            added = int(counted.get["rows"])
            is_lost = added > 0 and not self._list_files()
        if is_lost:
            # Spark writes one file at least, also of no rows.
            raise FileNotFoundError(errno.ENOENT, "the files that Spark has written are not there", self.uri)
        self.rows += added
        return added

    def split(self) -> None:
        """Make the files that are there a part of their own."""
        self._early = frozenset(self._rows_of)

    def locate(self, part: StagedPart | None = None) -> list[str]:
        """Return the addresses of the files, or of those of a part."""
        if part is None:
            return [self.uri]
        names = [name for name in self._rows_of if (name in self._early) == (part == "early")]
        return [join_uri(self.uri, name) for name in names]

    def count_nulls(self, columns: Sequence[str]) -> dict[str, int] | None:
        """Return in how many rows each column is NULL, as the Parquet files' footers say; None when they do not."""
        totals = dict.fromkeys(columns, 0)
        for name in (name for name, rows in self._rows_of.items() if rows):
            found = count_parquet_nulls(self.spark, join_uri(self.uri, name), columns)
            if found is None:
                return None
            totals = {column: total + found[column] for column, total in totals.items()}
        return totals

    def seal(self) -> None:
        """Leave nothing in the folder but files of rows."""
        for entry in self.storage.list(self.uri):
            if _is_hidden(entry.name) or self._is_needless(entry.name):
                self.storage.delete(join_uri(self.uri, entry.name))

    def _is_needless(self, name: str) -> bool:
        """Return whether a file without rows is one of several; alone it carries the schema."""
        if self._rows_of.get(name) != 0:
            return False
        keeper = min(self._rows_of)
        return self.rows > 0 or name != keeper

    def list_sizes(self, uri: str | None = None) -> dict[str, int]:
        """Return names and sizes of the files, wherever they are by now."""
        return {entry.name: entry.size for entry in self.storage.list(uri or self.uri) if not _is_hidden(entry.name)}

    def _list_files(self) -> list[str]:
        return list(self.list_sizes())


@dataclass(frozen=True)
class FileTable:
    """The folder that a file output publishes to."""

    storage: Storage
    area: StagingArea
    uri: str
    period: str
    overwrite: bool
    token: int
    resumes: bool = False
    """Whether an earlier process of this attempt may have begun to publish."""

    def publish(self, staged_uri: str) -> None:
        """Let the staged files take the place of the period's, or of the whole table."""
        try:
            self.area.check()
            if not self.holds(staged_uri):
                self._swap(staged_uri)
        except OSError as failure:
            raise self._explain(failure) from failure

    def rehearse(self) -> None:
        """Find out whether the table's folder takes what is moved there, before anything is seen."""
        if self.overwrite or not self.storage.exists(self.uri):
            return
        probe, name = join_uri(self.area.folder, "probe"), f".probe-{self.period}-{self.token}"
        if self.resumes:
            # A process of this attempt may have ended in the middle of this.
            self.storage.delete(join_uri(self.uri, name))
        self.storage.make_folder(probe)
        self.storage.move(probe, join_uri(self.uri, name))
        self.storage.delete(join_uri(self.uri, name))

    def holds_files(self, files: Mapping[str, int]) -> bool:
        """Return whether the table holds these very files for the period; each attempt's have names of their own."""
        found = self._list_files(self._period_uri)
        return bool(found) and found == dict(files) and (not self.overwrite or self._is_only_period())

    def find_staged(self, staged_uri: str) -> str:
        """Return where the staged files are: a process that ended while it overwrote may have moved them."""
        return staged_uri if self.storage.exists(staged_uri) else self._name_inside(staged_uri)

    def find_published(self) -> str | None:
        """Return the folder whose rows would be replaced; None when there is none."""
        uri = self.uri if self.overwrite else self._period_uri
        return uri if self.storage.exists(uri) else None

    def recover(self) -> None:
        """Put back what an attempt that failed between two renames has left aside."""
        self.area.recover(self.uri)
        self.area.recover(self._period_uri)

    @property
    def _period_uri(self) -> str:
        return join_uri(self.uri, f"period={self.period}")

    def _swap(self, staged_uri: str) -> None:
        if self.overwrite:
            self._swap_folder(self._wrap(staged_uri), self.uri)
        else:
            self._make_table()
            self._swap_folder(staged_uri, self._period_uri)

    def _make_table(self) -> None:
        """Make the table's folder, unless it was moved aside: then it is put back, or other periods would be lost."""
        while not self.storage.exists(self.uri):
            if not self.area.recover(self.uri):
                self.storage.make_folder(self.uri)
                return

    def _name_inside(self, staged_uri: str) -> str:
        return join_uri(f"{staged_uri}.table", f"period={self.period}")

    def _wrap(self, staged_uri: str) -> str:
        """Make the staged period the only one of a staged table."""
        table = staged_uri + ".table"
        inside = self._name_inside(staged_uri)
        if self.resumes and not self.storage.exists(staged_uri) and self.storage.exists(inside):
            return table
        self.storage.make_folder(table)
        self.storage.move(staged_uri, inside)
        return table

    def _swap_folder(self, staged_uri: str, target_uri: str) -> None:
        if not self.storage.exists(target_uri):
            self.storage.move(staged_uri, target_uri)
        elif self.storage.exchange(staged_uri, target_uri):
            self.area.retire(staged_uri)
        else:
            self._swap_by_renames(staged_uri, target_uri)

    def _swap_by_renames(self, staged_uri: str, target_uri: str) -> None:
        """Two renames; what fails or dies between them is put back, at the latest when the next attempt begins."""
        if not self.storage.exists(staged_uri):
            raise make_replaced_error(self.token)
        try:
            old = self.area.put_aside(target_uri)
            self.storage.move(staged_uri, target_uri)
        except OSError:
            self.recover()
            raise
        with contextlib.suppress(FileNotFoundError):
            self.area.retire(old)

    def holds(self, staged_uri: str) -> bool:
        """Return whether the very same files are published already."""
        old, new = self._list_files(self._period_uri), self._list_files(staged_uri)
        if sorted(old.values()) != sorted(new.values()) or (self.overwrite and not self._is_only_period()):
            return False
        found = self._digest(self._period_uri, old)
        return (
            bool(old)
            and None not in found
            and sorted(map(str, found)) == sorted(map(str, self._digest(staged_uri, new)))
        )

    def _digest(self, folder: str, files: Mapping[str, int]) -> list[str | None]:
        return [self.storage.compute_digest(join_uri(folder, name)) for name in files]

    def _is_only_period(self) -> bool:
        return [*self._list_files(self.uri)] == [f"period={self.period}"]

    def _list_files(self, folder: str) -> dict[str, int]:
        """Return names and sizes of what readers see in a folder; a link is replaced, and never written through."""
        if self.storage.is_link(folder):
            return {}
        return {entry.name: entry.size for entry in self.storage.list(folder) if not _is_hidden(entry.name)}

    def _explain(self, failure: OSError) -> JobError:
        """Tell a swap that a newer attempt made impossible from one that the file system did."""
        try:
            self.area.check()
        except JobError as replaced:
            return replaced
        return make_write_error(self.uri, failure.strerror or str(failure))


def make_write_error(place: str, reason: str) -> JobError:
    """Return the error of an output that could not be written."""
    return JobError(
        "OUTPUT_003", f"writing to {place} failed: {reason}", hint="run it again: what was published already is found"
    )


def _write_plain_decimals(frame: DataFrame, format_: str) -> DataFrame:
    """Return the rows with decimals in a form that Spark's writers give plain digits, not exponents.

    Texts in CSV; in JSON, where numbers stay numbers, variants. Up to six places JSON's writer has plain digits itself.
    """
    if format_ not in _PLAIN_FORM:
        return frame
    form, most_places = _PLAIN_FORM[format_]
    columns = [
        (quote_name(field.name), isinstance(field.dataType, DecimalType) and field.dataType.scale > most_places)
        for field in frame.schema.fields
    ]
    if not any(is_changed for _, is_changed in columns):
        return frame
    return frame.selectExpr(*(f"CAST({name} AS {form}) AS {name}" if changed else name for name, changed in columns))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _quiet_options(uri: str) -> dict[str, str]:
    """Return Hadoop settings of one write that leave no markers and no checksum files, and call files as Spark does."""
    options = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false", **PLAIN_NAMES}
    if is_local(uri):
        options["fs.file.impl"] = "org.apache.hadoop.fs.RawLocalFileSystem"
        options["fs.file.impl.disable.cache"] = "true"
    return options

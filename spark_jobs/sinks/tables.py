"""Outputs into Iceberg and Delta tables: Parquet files under their final names, which somebody else commits.

    <location>/runtime-<run>/<token>-<nonce>-<seq>/_uncommitted     says that no table refers to the files beside it
    <location>/runtime-<run>/<token>-<nonce>-<seq>/part-….parquet

The job publishes nothing here. The report names the files, and the submitting process, which has the table's library,
commits them when lease, token and period allow it; there the newest attempt wins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import VERIFIED
from spark_jobs.contract.report import UNCOMMITTED, OutputReport, StagedReport, TableReport
from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.system_columns import PERIOD_COLUMN
from spark_jobs.contract.tables import Temporal, write_schema
from spark_jobs.errors import JobError
from spark_jobs.sinks.outputs import Output, OutputRequest, SliceFolder
from spark_jobs.sinks.path import PARQUET, StagedFiles
from spark_jobs.spark.storage import join_uri, open_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.sinks.protocol import StagedPart


BY_PERIOD = "rows-of"
"""No column of an output can be called so."""


class TableFiles(StagedFiles):
    """The files of one attempt, in the folder and below it."""

    def add(self, frame: DataFrame) -> int:
        """Write rows into the folder and return how many there were."""
        if self.partition_by:
            # The column itself stays in the files.
            frame = frame.withColumn(BY_PERIOD, frame[quote_name(PERIOD_COLUMN)])
        return super().add(frame)

    def take_up(self, names: Iterable[str]) -> None:
        """Go on with files that hold rows."""
        self._rows_of = dict.fromkeys(names, 1)

    def list_filled(self) -> list[str]:
        """Return the paths below the folder of all files that hold rows."""
        return sorted(name for name, rows in self._rows_of.items() if rows)

    def _list_files(self, below: str = "") -> list[str]:
        found: list[str] = []
        for entry in self.storage.list(join_uri(self.uri, below) if below else self.uri):
            path = f"{below}/{entry.name}" if below else entry.name
            if not entry.name.startswith((".", "_")):
                found += self._list_files(path) if entry.is_folder else [path]
        return found


class TableOutput(Output):
    """An output that is an Iceberg or Delta table."""

    staged: TableFiles

    def __init__(self, request: OutputRequest) -> None:
        super().__init__(request)
        self._storage = open_storage(self.operation.destination.uri, self.spark)
        self._folder = f"runtime-{self.attempt.run_key}/{self.attempt.name}-{self.operation.seq}"
        self._periods = self.snapshot.replaced_periods
        self._kept: TableReport | None = None
        self.staged = TableFiles(
            self.spark,
            self._storage,
            join_uri(self.operation.destination.uri, self._folder),
            PARQUET,
            partition_by=self._split(),
        )

    @property
    def stages_parquet(self) -> bool:
        """Return whether the rows are staged in one folder of Parquet files."""
        return not self.staged.partition_by

    def claim(self) -> None:
        """Mark the attempt's folder as one that no table refers to."""
        with self.explained():
            self._storage.make_folder(self.staged.uri)
            self._storage.write_bytes(join_uri(self.staged.uri, UNCOMMITTED), b"")

    def check(self) -> None:
        """Nothing: tokens are compared when the files are committed."""

    def rehearse(self) -> None:
        """Nothing: the table was asked about the columns when the run was resolved."""

    def take_up(self, kept: OutputReport) -> None:
        """Go on with the files that were staged; DATA_001 when they are gone.

        A newer attempt of this registry, which would have removed them, is known before this.
        """
        assert kept.staged is not None
        self.resumes, self.rows, self._kept = True, kept.rows, kept.table
        self.staged.take_up(kept.table.files if kept.table is not None else ())
        if not all(self._storage.exists(join_uri(self.staged.uri, name)) for name in self.staged.list_filled()):
            message = f"{self.operation.destination.display}: the files that wait for a decision are gone"
            hint = "the table was dropped, cleaned up, or replaced by a run of another registry; run it again"
            raise JobError("DATA_001", message, hint=hint, mark=self.operation.mark)

    def read_published(self) -> DataFrame | None:
        """Return the rows that the submitting process has found in the table; None when there is no table."""
        published = self.operation.destination.published
        if published is None:
            message = f"what readers see of the table {self.operation.destination.display} was not looked up"
            hint = "submit the job with this package's commands or operators, which ask the table"
            raise JobError("OUTPUT_002", message, hint=hint, mark=self.operation.mark)
        temporal = Temporal("period" if self.operation.write_mode == "replace_period" else "snapshot")
        return self.load(temporal, *published) if published else None

    def is_published(self) -> bool:
        """Say no: the submitting process finds out when it commits."""
        return False

    def describe_staged(self) -> StagedReport:
        """Return where the staged rows are."""
        return StagedReport(self.attempt.nonce, self.staged.uri, PARQUET)

    def publish(self) -> None:
        """Nothing: the submitting process commits the files that the report names."""

    def abandon(self) -> None:
        """Remove the attempt's folder, unless a commit was tried: a table may refer to it."""
        super().abandon()
        if self._storage.exists(join_uri(self.staged.uri, UNCOMMITTED)):
            self._storage.delete(self.staged.uri)

    def make_report(self) -> OutputReport:
        """Return what is to be committed."""
        with self.explained():
            files = self.staged.list_filled()
            content = self._compute_content(files)
        periods = self._periods if self.operation.write_mode == "replace_period" else ()
        table = TableReport(self._folder, tuple(files), periods, content)
        if self._kept is not None:
            table = replace(table, base=self._kept.base, table_id=self._kept.table_id, has_base=self._kept.has_base)
        return replace(super().make_report(), table=table)

    def read_staged(self, staged: StagedFiles, part: StagedPart | None = None) -> DataFrame:
        """Return the staged rows, without the column by which they are split."""
        assert part is None
        reader = self.spark.read.options(**VERIFIED, recursiveFileLookup="true")
        return reader.schema(write_schema(self.operation.columns)).parquet(escape_pattern(staged.uri))

    def copy_slice(self, staged: StagedFiles, kept: SliceFolder) -> None:
        """Write the rows once more: the table's own files stay the table's."""
        StagedFiles(self.spark, kept.storage, kept.hidden_uri, PARQUET).add(self.read_staged(staged))

    def _split(self) -> tuple[str, ...]:
        """A table may be partitioned by period, and no file can be in two partitions."""
        has_period = any(column.name == PERIOD_COLUMN for column in self.operation.columns)
        return (BY_PERIOD,) if has_period and len(self._periods) > 1 else ()

    def _compute_content(self, files: list[str]) -> str | None:
        uris = [join_uri(self.staged.uri, name) for name in files]
        digests = [self._storage.compute_digest(uri, without_footer=True) for uri in uris]
        return None if None in digests else hashlib.sha256("\n".join(sorted(map(str, digests))).encode()).hexdigest()

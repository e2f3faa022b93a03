"""An output that is a folder of files."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import merge_options
from spark_jobs.contract.report import OutputReport, StagedReport
from spark_jobs.contract.tables import Location, Temporal
from spark_jobs.credentials import read_options
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import StagingArea
from spark_jobs.sinks.outputs import Output, OutputRequest
from spark_jobs.sinks.path import FORMAT_DEFAULTS, PARQUET, FileTable, StagedFiles
from spark_jobs.spark.storage import join_uri, open_storage
from spark_jobs.spark.table_folders import find_table_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.sinks.protocol import StagedPart


class FileOutput(Output):
    """An output that is a folder of files."""

    area: StagingArea

    def __init__(self, request: OutputRequest) -> None:
        super().__init__(request)
        destination = self.operation.destination
        self._storage = open_storage(destination.uri, self.spark)
        self.area = StagingArea(self._storage, destination.uri, self.attempt)
        self._files = StagedFiles(
            self.spark,
            self._storage,
            join_uri(self.area.folder, str(self.operation.seq)),
            destination.format,
            destination.options,
        )
        self._overwrites = self.operation.write_mode == "overwrite"
        self._table = FileTable(
            self._storage, self.area, destination.uri, self.attempt.period, self._overwrites, self.attempt.token
        )
        self._kept_files: Mapping[str, int] = {}
        # What is registered or checked is staged as Parquet, and converted once all its rows are there.
        self._converts = (self.slice is not None or self.is_checked) and destination.format != PARQUET
        self.staged = (self.stage_slice() or self._stage_for_checks()) if self._converts else self._files

    def _stage_for_checks(self) -> StagedFiles:
        uri = join_uri(self.area.folder, f"{self.operation.seq}-checked")
        return StagedFiles(self.spark, self._storage, uri, PARQUET)

    def check_writable(self) -> None:
        """Raise PERIOD_002 for a locked period, OUTPUT_002 for a table's folder or what another project has written."""
        with self.explained():
            self._refuse_table()
            self.area.check_period()
            if not self.operation.destination.shared:
                self.area.check_writers(overwrites=self._overwrites)

    def _refuse_table(self) -> None:
        found = find_table_folder(self._storage, [self.operation.destination.uri])
        if found is not None:
            folder, format_ = found
            message = f"{folder} is a table of {format_.title()}, which files that are put there would destroy"
            raise JobError("OUTPUT_002", message, hint=f"write to it through a datasource of `type: {format_}`")

    def claim(self) -> None:
        """Become the newest attempt at this folder."""
        with self.explained():
            self.area.claim()
            self._table.recover()
            credentials = read_options(self.operation.destination.credential_ref)
            self._files.options = merge_options(
                self._files.options, {name: value for name, value in credentials.items() if "." in name}
            )

    def check(self) -> None:
        """Raise RUN_002 when a newer attempt is known here, PERIOD_002 when a lock is."""
        with self.explained():
            self.area.check()
            self.area.check_period()

    def take_up(self, kept: OutputReport) -> None:
        """Go on with the files that this attempt has staged."""
        assert kept.staged is not None
        self.rows, self._kept_files, self.resumes = kept.rows, kept.staged.files, True
        self._table = replace(self._table, resumes=True)
        with self.explained():
            self.area.check()
            self._table.recover()

    def is_published(self) -> bool:
        """Return whether the table holds the staged files."""
        with self.explained():
            return self._table.holds_files(self._kept_files)

    def check_staged(self) -> None:
        """Raise PLAN_001 when staged files are gone or have another size."""
        with self.explained():
            found = self._files.list_sizes(self._table.find_staged(self._files.uri))
            if found == self._kept_files:
                return
            self.area.check()
            message = (
                f"what was staged for {self.operation.destination.display} has changed since: its files are others"
            )
            raise JobError("PLAN_001", message, hint="discard it and run again", mark=self.operation.mark)

    def keep(self, until_millis: int) -> None:
        """Keep the staged files from being swept."""
        with self.explained():
            self.area.keep(until_millis)

    def note_writer(self) -> None:
        """Note in the table's hidden folder that this project writes the period."""
        with self.explained():
            self.area.note_writer(overwrites=self._overwrites, is_shared=self.operation.destination.shared)

    def describe_staged(self) -> StagedReport:
        """Return the folder of the staged files."""
        return StagedReport(self.attempt.nonce, self._files.uri, self._files.format, files=self._files.list_sizes())

    def seal(self) -> None:
        """Finish the staged files, converted where that is asked for."""
        with self.explained():
            if self.staged is not None and self._converts:
                self.staged.seal()
                self._files.add(self.read_staged(self.staged))
            self._files.seal()

    def rehearse(self) -> None:
        """See whether files can be moved to the table: it may be a link to another disk, or not be writable."""
        with self.explained():
            self._table.rehearse()

    def split_staged(self) -> bool:
        """Make what is staged so far a part of its own."""
        if self.staged is None or not self.stages_parquet:
            return False
        self.staged.split()
        return True

    def read_rows(self, part: StagedPart | None = None) -> DataFrame:
        """Return the rows as they are staged; what is not Parquet is read as strictly as a source."""
        assert self.staged is not None
        if self.stages_parquet:
            return self.read_staged(self.staged, part)
        options = merge_options(FORMAT_DEFAULTS.get(self.staged.format, {}), self.staged.options)
        uri = escape_pattern(self.staged.uri)
        location = Location(kind="files", format=self.staged.format, uri=uri, options=options, on_missing="empty")
        return self.load(Temporal("snapshot"), location)

    def read_published(self) -> DataFrame | None:
        """Return the rows of the period's folder, or of the whole table."""
        uri = self._table.find_published()
        if uri is None:
            return None
        destination = self.operation.destination
        options = merge_options(FORMAT_DEFAULTS.get(destination.format, {}), destination.options)
        location = Location(
            kind="files", format=destination.format, uri=escape_pattern(uri), options=options,
            credential_ref=destination.credential_ref, on_missing="empty",
        )  # fmt: skip
        return self.load(Temporal("snapshot"), location)

    def replaces_equal_rows(self) -> bool:
        """Compare the files' digests."""
        with self.explained():
            return self.rows > 0 and self._table.holds(self._files.uri)

    def publish(self) -> None:
        """Swap the staged files in."""
        with self.explained():
            self._table.publish(self._files.uri)

    def clean(self) -> None:
        """Remove what is left of staging, and what was retired long ago."""
        with contextlib.suppress(OSError):
            if self.resumes:
                self._retire_replaced()
            self.area.empty()
            self.area.sweep()

    def _retire_replaced(self) -> None:
        """Keep for its readers what a process that ended right after a swap has left where the staged files were."""
        for uri in (self._files.uri, f"{self._files.uri}.table"):
            if self._storage.exists(uri):
                self.area.retire(uri)

    def abandon(self) -> None:
        """Remove what was staged; the attempt's folder stays as a fence."""
        super().abandon()
        self.area.empty()
        self._table.recover()

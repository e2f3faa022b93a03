"""One output of a run, from its claim to its place: what files and databases have in common, and what not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern, is_local
from spark_jobs.contract.options import VERIFIED, merge_options
from spark_jobs.contract.plan import Location, Table, Temporal
from spark_jobs.contract.report import OutputReport, SliceReport, StagedReport
from spark_jobs.contract.sql import quote_name
from spark_jobs.credentials import read_credentials, read_options
from spark_jobs.errors import JobError, shorten
from spark_jobs.redaction import redact
from spark_jobs.sinks.attempts import Attempt, StagingArea
from spark_jobs.sinks.jdbc import JdbcOutput
from spark_jobs.sinks.jdbc_target import JdbcTarget, is_about_values, make_value_error
from spark_jobs.sinks.path import FORMAT_DEFAULTS, PARQUET, FileTable, StagedFiles, make_write_error
from spark_jobs.sinks.protocol import StagedOutput
from spark_jobs.sources import SourceContext, load_table
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from spark_jobs.sources.read_errors import NO_NUMBER, find_wrong_option
from spark_jobs.spark.jvm import list_causes
from spark_jobs.spark.storage import Storage, digest_rows, join_uri, open_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.plan import OutputOperation
    from spark_jobs.contract.snapshot import Snapshot

FULL_SIGNS = ("No space left on device", "Disk quota exceeded")
REFUSED_SIGNS = (
    "Permission denied",
    "Mkdirs failed",
    "Read-only file system",
    "ot a directory",
    "FileNotFoundException",
)
DATABASE_SAYS = re.compile(r"(?:SQL\w*Exception|BatchUpdateException): ([^\n]+)")


@dataclass(frozen=True, slots=True)
class SliceFolder:
    """The folder that keeps an output as a slice of a registered dataset: hidden while it fills."""

    storage: Storage
    hidden_uri: str
    uri: str


class Output:
    """One output of a run; what files and databases have in common is the slice."""

    area: StagingArea | None = None
    staged: StagedFiles | None = None
    """Parquet or other files that hold the output's rows."""
    resumes = False
    """Whether an earlier process of this attempt has staged the rows."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        operation: OutputOperation,
        attempt: Attempt,
        *,
        is_checked: bool = False,
    ) -> None:
        self.spark = spark
        self.snapshot = snapshot
        self.operation = operation
        self.attempt = attempt
        self.is_checked = is_checked
        self.rows = 0
        self.slice = self._make_slice()
        self._slice_content: str | None = None

    @property
    def stages_parquet(self) -> bool:
        """Tell whether the rows are staged as Parquet files."""
        return self.staged is not None and self.staged.format == PARQUET

    def check_writable(self) -> None:
        """Raise what the destination has against the period or project, before older attempts lose their rows."""

    def claim(self) -> None:
        """Fence off older attempts."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise RUN_002 when a newer attempt is known."""
        raise NotImplementedError

    def take_up(self, kept: OutputReport) -> None:
        """Go on with what an earlier process of this attempt has staged; RUN_002 when it was replaced since."""
        raise NotImplementedError

    def is_published(self) -> bool:
        """Tell whether an earlier process of this attempt has published the output before it ended."""
        raise NotImplementedError

    def keep(self, until_millis: int) -> None:
        """Keep what is staged until then."""

    def note_writer(self) -> None:
        """Note who publishes here; OUTPUT_002 when another project did."""

    def rehearse(self) -> None:
        """Raise what the destination has against the output."""
        raise NotImplementedError

    def publish(self) -> None:
        """Replace what the destination holds."""
        raise NotImplementedError

    def write(self, frame: DataFrame) -> int:
        """Write rows aside in the destination's own form."""
        raise NotImplementedError

    def stage(self, frame: DataFrame) -> StagedOutput:
        """Write rows aside and count them."""
        try:
            added = self.staged.add(frame) if self.staged is not None else self.write(frame)
        except JobError:
            raise
        except Exception as failure:
            if isinstance(failure, FileNotFoundError):
                # Staged files that are gone were taken away by a newer attempt.
                self.check()
            # Writing is what makes Spark compute: most failures here are about the data, and are explained elsewhere.
            reason = self._find_write_failure(failure)
            if reason is not None and self.operation.destination.kind == "jdbc" and is_about_values(reason):
                raise make_value_error(self.operation, reason) from failure
            if reason is not None:
                raise self._make_write_error(reason) from failure
            self._refuse_options(failure)
            raise
        self.rows += added
        uri = self.staged.uri if self.staged is not None and self.stages_parquet else None
        return StagedOutput(self.operation.seq, added, uri)

    def seal(self) -> None:
        """Finish what was staged."""

    def read_rows(self) -> DataFrame:
        """Return the rows as they are staged."""
        assert self.staged is not None
        return self.read_staged(self.staged)

    def read_published(self) -> DataFrame | None:
        """Return the rows that readers see now, and that these would replace; None when there are none."""
        raise NotImplementedError

    def count_nulls(self, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many rows each column is NULL; None when only reading them would tell."""
        return self.staged.count_nulls(columns) if self.staged is not None and self.stages_parquet else None

    def publish_slice(self) -> None:
        """Let the slice appear under its final name, which nothing refers to until it is registered."""
        if self.slice is None or self.staged is None:
            return
        with self.explained():
            # An earlier process of this attempt may have come this far, or half of it.
            if not (self.resumes and self.slice.storage.exists(self.slice.uri)):
                if self.staged.uri != self.slice.hidden_uri:
                    self.slice.storage.delete(self.slice.hidden_uri)
                    self.copy_slice(self.staged, self.slice)
                self.slice.storage.move(self.slice.hidden_uri, self.slice.uri)
            self._slice_content = digest_rows(self.slice.storage, self.slice.uri)

    def clean(self) -> None:
        """Remove what is not needed any more; a failure here does not fail the run."""

    def abandon(self) -> None:
        """Remove what was staged."""
        if self.slice is not None:
            self.slice.storage.delete(self.slice.hidden_uri)
            self.slice.storage.delete(self.slice.uri)

    def make_report(self) -> OutputReport:
        """Return what was published."""
        kept = self.operation.slice
        return OutputReport(
            seq=self.operation.seq,
            destination=self.operation.destination.display,
            rows=self.rows,
            columns=tuple(column.name for column in self.operation.columns),
            registered_dataset=kept.dataset_name if kept is not None else None,
            slice=SliceReport(self.slice.uri, self.rows, self._slice_content) if self.slice is not None else None,
        )

    def describe_staged(self) -> StagedReport:
        """Return where the staged rows are."""
        raise NotImplementedError

    def make_staged_report(self) -> OutputReport:
        """Return what was staged."""
        return replace(self.make_report(), slice=None, staged=self.describe_staged())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what goes wrong once the rows are computed into errors of this output."""
        try:
            yield
        except JobError as error:
            raise error if error.mark is not None else self._place(error) from error
        except OSError as failure:
            if isinstance(failure, FileNotFoundError):
                # Staged files that are gone were taken away by a newer attempt.
                self.check()
            raise self._make_write_error(failure.strerror or str(failure)) from failure
        except (PySparkException, Py4JError) as failure:
            self._refuse_options(failure)
            raise self._make_write_error(shorten(str(failure))) from failure

    def stage_slice(self) -> StagedFiles | None:
        """Return the slice's folder as the place to stage Parquet at, when the destination is none."""
        if self.slice is None:
            return None
        return StagedFiles(self.spark, self.slice.storage, self.slice.hidden_uri, PARQUET)

    def read_staged(self, staged: StagedFiles) -> DataFrame:
        """Return the staged Parquet rows, typed as the output's columns."""
        schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in self.operation.columns)
        return self.spark.read.options(**VERIFIED).schema(schema).parquet(escape_pattern(staged.uri))

    def _load(self, temporal: Temporal, *locations: Location) -> DataFrame:
        """Return rows as any table's are read: strictly, as the output's columns."""
        operation = self.operation
        table = Table(
            role="input",
            dataset_id=operation.destination.display,
            dataset_version=1,
            table=operation.destination.table or "",
            columns=operation.columns,
            temporal=temporal,
            locations=locations,
            mark=operation.mark,
        )
        snapshots = DatabaseSnapshots(self.spark, is_needed=False)
        period, as_of = self.snapshot.period.identifier, self.snapshot.as_of
        context = SourceContext(self.spark, period, as_of, read_options, snapshots, needs_positions=False)
        return load_table(context, table).frame.select(*(quote_name(column.name) for column in operation.columns))

    def _find_write_failure(self, failure: Exception) -> str | None:
        """Return what says that the files or the database refused the rows; None when it was something else."""
        if isinstance(failure, OSError):
            return failure.strerror or str(failure)
        texts = list_causes(failure)
        for text in texts:
            full = next((sign for sign in FULL_SIGNS if sign in text), None)
            if full is not None:
                return full
            if self.attempt.name in text and any(sign in text for sign in REFUSED_SIGNS):
                return shorten(text)
        said = DATABASE_SAYS.findall("\n".join(texts)) if self.operation.destination.kind == "jdbc" else []
        if any(NO_NUMBER.search(text) for text in said):
            # It is the source that holds it.
            return None
        # The last cause is the first one in time: what the database has said itself.
        return shorten(said[-1]) if said else None

    def _refuse_options(self, failure: Exception) -> None:
        """Raise OUTPUT_002 for an option's value that Spark does not take: no retry would help."""
        wrong = find_wrong_option(list_causes(failure))
        if wrong is not None:
            message = f"writing to {self.operation.destination.display} is not possible: {wrong}"
            hint = "see the options of the destination, or of its datasource"
            raise self._place(JobError("OUTPUT_002", message, hint=hint)) from failure

    def _make_write_error(self, reason: str) -> JobError:
        return self._place(make_write_error(self.operation.destination.display, redact(reason)))

    def _place(self, error: JobError) -> JobError:
        return JobError(
            error.code, error.message, hint=error.hint, mark=self.operation.mark, newest_token=error.newest_token
        )

    def _make_slice(self) -> SliceFolder | None:
        kept = self.operation.slice
        if kept is None:
            return None
        attempt = self.attempt
        name = f"{attempt.token}-{attempt.digest[:12]}-{self.operation.seq}-{attempt.nonce}"
        folder = join_uri(kept.uri_prefix, attempt.period)
        return SliceFolder(open_storage(folder, self.spark), join_uri(folder, f".{name}"), join_uri(folder, name))

    def copy_slice(self, staged: StagedFiles, kept: SliceFolder) -> None:
        """Copy the staged files, or write them again where they are in another file system."""
        if not (is_local(staged.uri) and is_local(kept.uri)):
            StagedFiles(self.spark, kept.storage, kept.hidden_uri, PARQUET).add(self.read_staged(staged))
            return
        kept.storage.make_folder(kept.hidden_uri)
        for entry in staged.storage.list(staged.uri):
            kept.storage.copy_file(join_uri(staged.uri, entry.name), join_uri(kept.hidden_uri, entry.name))


class FileOutput(Output):
    """An output that is a folder of files."""

    area: StagingArea

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        operation: OutputOperation,
        attempt: Attempt,
        *,
        is_checked: bool = False,
    ) -> None:
        super().__init__(spark, snapshot, operation, attempt, is_checked=is_checked)
        destination = operation.destination
        self._storage = open_storage(destination.uri, spark)
        self.area = StagingArea(self._storage, destination.uri, attempt)
        self._files = StagedFiles(
            spark,
            self._storage,
            join_uri(self.area.folder, str(operation.seq)),
            destination.format,
            destination.options,
        )
        self._overwrites = operation.write_mode == "overwrite"
        self._table = FileTable(
            self._storage, self.area, destination.uri, attempt.period, self._overwrites, attempt.token
        )
        self._kept_files: Mapping[str, int] = {}
        # What is registered or checked is staged as Parquet, and converted once all its rows are there.
        self._converts = (self.slice is not None or is_checked) and destination.format != PARQUET
        self.staged = (self.stage_slice() or self._stage_for_checks()) if self._converts else self._files

    def _stage_for_checks(self) -> StagedFiles:
        uri = join_uri(self.area.folder, f"{self.operation.seq}-checked")
        return StagedFiles(self.spark, self._storage, uri, PARQUET)

    def check_writable(self) -> None:
        """Raise PERIOD_002 for a locked period, OUTPUT_002 for one that another project has written."""
        with self.explained():
            self.area.check_period()
            if not self.operation.destination.shared:
                self.area.check_writers(overwrites=self._overwrites)

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
        """Tell whether the table holds the staged files."""
        with self.explained():
            return self._table.holds_files(self._kept_files)

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
        """See whether files can be moved to the table: it may be a link to another disk, or nobody may write there."""
        with self.explained():
            self._table.rehearse()

    def read_rows(self) -> DataFrame:
        """Return the rows as they are staged; what is not Parquet is read as strictly as a source."""
        assert self.staged is not None
        if self.stages_parquet:
            return self.read_staged(self.staged)
        options = merge_options(FORMAT_DEFAULTS.get(self.staged.format, {}), self.staged.options)
        uri = escape_pattern(self.staged.uri)
        location = Location(kind="files", format=self.staged.format, uri=uri, options=options, on_missing="empty")
        return self._load(Temporal("snapshot"), location)

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
        return self._load(Temporal("snapshot"), location)

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


class JdbcTableOutput(Output):
    """An output that is a table of a database."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        operation: OutputOperation,
        attempt: Attempt,
        *,
        is_checked: bool = False,
    ) -> None:
        super().__init__(spark, snapshot, operation, attempt, is_checked=is_checked)
        ref = operation.destination.credential_ref
        periods = snapshot.replaced_periods
        target = JdbcTarget(spark, operation, attempt, periods, lambda: read_credentials(ref))
        self._table = JdbcOutput(target)
        self.staged = self.stage_slice()

    def claim(self) -> None:
        """Become the newest attempt in the ledger."""
        self._table.claim()

    def check(self) -> None:
        """Raise RUN_002 when the ledger knows a newer attempt; the transaction that publishes looks again."""
        self._table.check()

    def take_up(self, kept: OutputReport) -> None:
        """Go on with the stage table of this attempt."""
        self.rows, self.resumes = kept.rows, True
        self._table.take_up(kept.rows)

    def is_published(self) -> bool:
        """Tell whether the ledger says so."""
        return self._table.is_published()

    def describe_staged(self) -> StagedReport:
        """Return the stage table."""
        return StagedReport(self.attempt.nonce, table=self._table.stage_name)

    def rehearse(self) -> None:
        """Let the database refuse the rows while nothing is seen of the run yet."""
        self._table.rehearse()

    def write(self, frame: DataFrame) -> int:
        """Write rows into the stage table."""
        return self._table.add(frame)

    def seal(self) -> None:
        """Move a registered output's rows from their Parquet files into the stage table."""
        if self.staged is not None:
            with self.explained():
                self.staged.seal()
                self._table.add(self.read_staged(self.staged))

    def read_rows(self) -> DataFrame:
        """Return the rows of the stage table: what the database holds, which nobody else writes to."""
        return self._load(Temporal("snapshot"), self._table.locate_stage())

    def read_published(self) -> DataFrame | None:
        """Return the rows of the period, or of the whole table; None when there is no table yet."""
        location = self._table.locate_published()
        if location is None:
            return None
        overwrites = self.operation.write_mode == "overwrite"
        return self._load(Temporal("snapshot" if overwrites else "period"), location)

    def count_nulls(self, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Only the database knows."""
        del columns
        return None

    def publish(self) -> None:
        """Replace the period in one transaction."""
        self._table.publish()

    def abandon(self) -> None:
        """Remove the stage table."""
        super().abandon()
        self._table.abandon()

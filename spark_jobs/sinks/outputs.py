"""One output of a run, from its claim to its place: what files and databases have in common, and what not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import escape_pattern, is_local
from spark_jobs.contract.options import VERIFIED
from spark_jobs.contract.report import OutputReport, SliceReport, StagedReport
from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.tables import Location, Table, Temporal, write_schema
from spark_jobs.credentials import read_options
from spark_jobs.errors import JobError, shorten
from spark_jobs.redaction import redact
from spark_jobs.sinks.attempts import Attempt, StagingArea
from spark_jobs.sinks.jdbc_target import is_about_values, make_value_error
from spark_jobs.sinks.path import PARQUET, StagedFiles, make_write_error
from spark_jobs.sinks.protocol import StagedOutput, StagedPart
from spark_jobs.sinks.write_failures import find_write_failure
from spark_jobs.sources import SourceContext, load_table
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from spark_jobs.sources.read_errors import find_wrong_option
from spark_jobs.spark.jvm import list_causes
from spark_jobs.spark.storage import Storage, digest_rows, join_uri, open_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.operations import OutputOperation
    from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SliceFolder:
    """The folder that keeps an output as a slice of a registered dataset: hidden while it fills."""

    storage: Storage
    hidden_uri: str
    uri: str


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """An output that an attempt makes."""

    spark: SparkSession
    snapshot: Snapshot
    operation: OutputOperation
    attempt: Attempt
    is_checked: bool = False
    """Whether the staged rows are read back."""


class Output:
    """One output of a run; what files and databases have in common is the slice."""

    area: StagingArea | None = None
    staged: StagedFiles | None = None
    """Parquet or other files that hold the output's rows."""
    resumes = False
    """Whether an earlier process of this attempt has staged the rows."""

    def __init__(self, request: OutputRequest) -> None:
        self.spark = request.spark
        self.snapshot = request.snapshot
        self.operation = request.operation
        self.attempt = request.attempt
        self.is_checked = request.is_checked
        self.rows = 0
        self.slice = self._make_slice()
        self._slice_content: str | None = None

    @property
    def stages_parquet(self) -> bool:
        """Return whether the rows are staged as Parquet files."""
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
        """Return whether an earlier process of this attempt has published the output before it ended."""
        raise NotImplementedError

    def keep(self, until_millis: int) -> None:
        """Keep what is staged until then."""

    def note_writer(self) -> None:
        """Note who publishes here; OUTPUT_002 when another project did."""

    def check_staged(self) -> None:
        """Raise PLAN_001 when what an earlier process has staged has changed; a database looks by itself."""

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
            in_database = self.operation.destination.kind == "jdbc"
            reason = find_write_failure(failure, self.attempt.name, in_database=in_database)
            if reason is not None and in_database and is_about_values(reason):
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

    def read_rows(self, part: StagedPart | None = None) -> DataFrame:
        """Return the rows as they are staged, or a part of them."""
        assert self.staged is not None
        assert part is None
        return self.read_staged(self.staged)

    def split_staged(self) -> bool:
        """Make what is staged so far a part of its own; False where it is read all at once."""
        return False

    def read_published(self) -> DataFrame | None:
        """Return the rows that readers see now, and that these would replace; None when there are none."""
        raise NotImplementedError

    def replaces_equal_rows(self) -> bool:
        """Return whether readers see exactly these rows, where that is known without reading them; else False."""
        return False

    def count_nulls(self, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many rows each column is NULL; None when that takes reading them."""
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

    def read_staged(self, staged: StagedFiles, part: StagedPart | None = None) -> DataFrame:
        """Return the staged Parquet rows, typed as the output's columns."""
        reader = self.spark.read.options(**VERIFIED).schema(write_schema(self.operation.columns))
        return reader.parquet(*map(escape_pattern, staged.locate(part)))

    def load(self, temporal: Temporal, *locations: Location) -> DataFrame:
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

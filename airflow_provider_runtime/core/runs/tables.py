"""Outputs into Iceberg and Delta tables: committed by the submitting process when their job has succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_runtime.core.errors import DataError, Place, Problem, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.registry.ports import Attempt
from airflow_provider_runtime.core.tables import (
    CommitNote,
    CommitRequest,
    RowFilter,
    TableColumn,
    TableState,
    VersionedTable,
    open_table,
)
from airflow_provider_runtime.core.tables.addresses import PropertyReader, make_address
from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN
from airflow_provider_runtime.core.tables.locations import locate_files
from airflow_provider_runtime.core.tables.notes import is_attempt_folder
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.own_tables import name_lock
from spark_jobs.contract.report import OutputReport, Report, TableReport
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Location

_FILE = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._=-]*/)*[A-Za-z0-9-][A-Za-z0-9._-]*")


@dataclass
class TableCommits:
    """The commits of one run, in the order of its outputs."""

    snapshot: Snapshot
    read_properties: PropertyReader | None = None
    _bases: dict[int, TableState] = field(default_factory=dict)

    def note_bases(self, attempt: Attempt) -> None:
        """Remember the versions of the tables now: a later commit by others to the same rows is a conflict."""
        for output in self._outputs.values():
            with _placed(self.snapshot, output):
                table = self._open(output)
                self._bases[output.seq] = table.find_state()
                periods = self.snapshot.replaced_periods if output.write_mode == "replace_period" else ()
                note = self._make_note(output, token=attempt.token, periods=periods)
                table.check_rows(note, self._locks, is_shared=output.destination.shared)

    def show_published(self) -> Snapshot:
        """Return the snapshot with what readers see of the rows that its outputs replace.

        That is at the versions noted; without these, now.
        """
        outputs = {seq: self._show(output) for seq, output in self._outputs.items()}
        operations = tuple(outputs.get(operation.seq, operation) for operation in self.snapshot.plan.operations)
        return replace(self.snapshot, plan=replace(self.snapshot.plan, operations=operations))

    def show_committed(self, report: Report) -> Snapshot:
        """Return the snapshot with the rows that a run has committed; where that version has expired, with today's."""
        versions = {found.seq: found.table.version for found in report.outputs if found.table is not None}
        for output in self._outputs.values():
            version = versions.get(output.seq)
            if version is not None:
                with suppress(DataError):
                    self._open(output).find_pin(version)
                    self._bases[output.seq] = TableState(version)
        return self.show_published()

    def commit(self, report: Report, attempt: Attempt) -> Report:
        """Commit what a job has written, or find that this was done already; the report then has the versions."""
        outputs = tuple(self._commit_output(output, attempt) for output in report.outputs)
        return replace(report, outputs=outputs)

    def find_newest_token(self) -> int | None:
        """Return the largest token with which the run has committed to any of its tables, as far as they answer."""
        found = [0]
        for output in self._outputs.values():
            with suppress(RuntimeProviderError):
                found.append(self._open(output).find_newest_token(self._make_note(output)))
        return max(found) or None

    def note_in(self, report: Report) -> Report:
        """Write the versions at which the tables stood into the report of rows that wait for a decision."""
        outputs = tuple(
            replace(found, table=_note_base(found.table, self._bases[found.seq]))
            if found.table is not None and not found.table.has_base and found.seq in self._bases
            else found
            for found in report.outputs
        )
        return replace(report, outputs=outputs)

    @property
    def _outputs(self) -> dict[int, OutputOperation]:
        return {output.seq: output for output in self.snapshot.plan.outputs if output.destination.kind == "table"}

    @property
    def _locks(self) -> tuple[str, ...]:
        """Names of the locks of the run's period, and of the periods that contain it."""
        settings = self.snapshot.plan.settings
        periods = (self.snapshot.period.identifier, *settings.enclosing_periods)
        return tuple(name_lock(settings.calendar, period) for period in periods)

    def _show(self, output: OutputOperation) -> OutputOperation:
        with _placed(self.snapshot, output):
            table, seq = self._open(output), output.seq
            is_missing = seq in self._bases and self._bases[seq].version is None
            found = () if is_missing else tuple(self._locate(table, output))
        return replace(output, destination=replace(output.destination, published=found))

    def _locate(self, table: VersionedTable, output: OutputOperation) -> Iterator[Location]:
        by_period = output.write_mode == "replace_period"
        version = self._bases.get(output.seq, TableState()).version
        for period in self.snapshot.replaced_periods if by_period else (None,):
            pinned = table.find_pin(version, RowFilter(PERIOD_COLUMN, period) if by_period else None)
            if pinned is None:
                return
            version = pinned.version
            place = Location(kind="table", format=output.destination.format, table=output.destination.table)
            for location in locate_files(replace(place, period=period), pinned):
                yield _add_missing(location, output)

    def _commit_output(self, found: OutputReport, attempt: Attempt) -> OutputReport:
        if found.table is None:
            return found
        output = self._get_output(found)
        with _placed(self.snapshot, output):
            committed = self._open(output).commit(self._make_request(output, found.table, attempt))
        return replace(found, table=replace(found.table, version=committed.version))

    def _get_output(self, found: OutputReport) -> OutputOperation:
        output = self._outputs.get(found.seq)
        if output is None:
            message = f"the report names a table of output {found.seq}, which the snapshot does not have"
            raise SnapshotError(Problem("SNAPSHOT_001", message))
        return output

    def _open(self, output: OutputOperation) -> VersionedTable:
        return open_table(make_address(output.destination, self.read_properties))

    def _make_request(self, output: OutputOperation, written: TableReport, attempt: Attempt) -> CommitRequest:
        _check_written(written, attempt, output)
        note = self._make_note(
            output, token=attempt.token, folder=written.folder, periods=written.periods, content=written.content
        )
        if not written.has_base and output.seq in self._bases:
            written = _note_base(written, self._bases[output.seq])
        return CommitRequest(
            note,
            tuple(TableColumn(column.name, column.type) for column in output.columns),
            written.files,
            output.destination.uri,
            base=written.base,
            table_id=written.table_id,
            has_base=written.has_base,
            is_shared=output.destination.shared,
            locks=self._locks,
        )

    def _make_note(self, output: OutputOperation, *, token: int = 0, **written: Any) -> CommitNote:
        """Return what a commit of an output says of its run."""
        run = self.snapshot
        return CommitNote(run.project.id, run.period.identifier, run.sha256, token, output.seq, **written)


def _add_missing(location: Location, output: OutputOperation) -> Location:
    """Return a location that has all columns of an output, as NULL where the table has not got them yet."""
    known = {column.name for column in location.schema}
    missing = tuple(column for column in output.columns if column.name not in known)
    names = {**location.names, **dict.fromkeys((column.name for column in missing), None)}
    return replace(location, schema=(*location.schema, *missing), names=names)


def _note_base(written: TableReport, base: TableState) -> TableReport:
    return replace(written, base=base.version, table_id=base.table_id, has_base=True)


def _check_written(written: TableReport, attempt: Attempt, output: OutputOperation) -> None:
    """Refuse files of others, to which the table would refer."""
    name = written.folder.rpartition("/")[2]
    is_own = name.startswith(f"{attempt.token:020d}-") and name.endswith(f"-{output.seq}")
    is_by_period = output.write_mode == "replace_period"
    if (
        not is_attempt_folder(written.folder)
        or not is_own
        or not all(map(_FILE.fullmatch, written.files))
        or is_by_period != bool(written.periods)
    ):
        message = f"the report names files of output {output.seq} that its attempt has not written"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "see who can write reports; nothing was committed"))


@contextmanager
def _placed(snapshot: Snapshot, output: OutputOperation) -> Iterator[None]:
    """Give errors of a table the place of the output in the YAML."""
    try:
        yield
    except RuntimeProviderError as error:
        mark = snapshot.plan.marks.get(output.mark)
        place = Place(project=snapshot.project.name, operation_seq=output.seq)
        if mark is not None:
            place = replace(place, file=mark.file, line=mark.line, column=mark.column)
        raise type(error)(replace(problem, location=place) for problem in error.problems) from error

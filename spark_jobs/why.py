"""Why rows are as they are: what a replay has noted, step by step, with the proof against what is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.checks.values import read_value, spell_value, write_value
from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.options import VERIFIED
from spark_jobs.contract.report import Report
from spark_jobs.contract.sql import WORKING, quote_name, write_literal
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.why import (
    LOADED,
    Change,
    Difference,
    Group,
    History,
    JoinMatch,
    Origin,
    OutputProof,
    RowHistory,
    Step,
    WhyRequest,
)
from spark_jobs.credentials import read_options
from spark_jobs.job import explain_failure, take_up_staged
from spark_jobs.rows.replay import Replay
from spark_jobs.rows.traces import TracedRow, TracedStep
from spark_jobs.sinks.publish import Publication
from spark_jobs.sources import report_sources
from spark_jobs.spark.session import configure_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.comparison import Values
    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.contract.tables import Column
    from spark_jobs.sources import Credentials, LoadedTable

ReadPublished = Callable[[int], "DataFrame | None"]
"""Gives what readers see of an output."""
FindChanges = Callable[[Sequence["LoadedTable"]], tuple[str, ...]]
Groups = Mapping[tuple[int, tuple[tuple[str, str | None], ...]], Group]


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run as its report describes it."""

    report: Report
    started_at: datetime
    is_replaced: bool = False
    """Whether another run has been published for the period since."""

    def list_changed_files(self, loaded: Sequence[LoadedTable]) -> tuple[str, ...]:
        """Return the files that were changed since the run has read them; where that is unknown, their folders."""
        known = {(found.dataset_id, found.version, found.table): found.fingerprint for found in self.report.sources}
        changed = []
        for table in loaded:
            if all(rows.location.kind == "table" for rows in table.opened):
                # Files of a table's version are never changed.
                continue
            (now,) = report_sources([table])
            before = known.get((now.dataset_id, now.version, now.table))
            if None not in (before, now.fingerprint) and before != now.fingerprint:
                changed += self._name_changed(table)
        return tuple(dict.fromkeys(changed))

    def _name_changed(self, loaded: LoadedTable) -> list[str]:
        since = self.started_at.timestamp() * 1000
        states = [file.state for rows in loaded.opened for file in rows.seen_files or ()]
        newer = [state.path for state in states if state.modified_millis >= since]
        return newer or [rows.location.shown_uri for rows in loaded.opened]


def read_slices(spark: SparkSession, run: ReportedRun, otherwise: ReadPublished) -> ReadPublished:
    """Return how to read what a run has published; what has been replaced since may be kept as a slice."""
    slices = {found.seq: found.slice for found in run.report.outputs if found.slice is not None}

    def read(seq: int) -> DataFrame | None:
        kept = slices.get(seq)
        if not run.is_replaced or kept is None:
            return otherwise(seq)
        return spark.read.options(**VERIFIED).parquet(escape_pattern(kept.uri))

    return read


def explain_rows(spark: SparkSession, snapshot: Snapshot, run: ReportedRun, request: WhyRequest) -> History:
    """Return the histories of rows of a run that is published or staged."""
    configure_session(spark)
    report = run.report
    try:
        if report.status == "staged":
            read: ReadPublished = take_up_staged(spark, snapshot, report).read_staged
        else:
            read = read_slices(spark, run, Publication(spark, snapshot, report.attempt).read_published)
        return replay_rows(spark, snapshot, request, read_options, read, run.list_changed_files)
    except Exception as failure:
        raise explain_failure(failure, snapshot, spark) from failure


def replay_rows(
    spark: SparkSession,
    snapshot: Snapshot,
    request: WhyRequest,
    credentials: Credentials,
    read_published: ReadPublished,
    find_changes: FindChanges,
) -> History:
    """Return the histories of the rows asked for; every failure is a JobError."""
    configure_session(spark)
    replay = Replay(spark, snapshot, credentials)
    try:
        replay.open()
        rows, has_more = replay.trace(request)
        histories = _HistoryMaker(snapshot, request, replay, read_published).make(rows)
        return History(histories, find_changes(replay.loaded_tables), has_more)
    except Exception as error:
        raise replay.explain(error) from error
    finally:
        replay.release()


class _HistoryMaker:
    """Tells the histories of traced rows."""

    def __init__(self, snapshot: Snapshot, request: WhyRequest, replay: Replay, read_published: ReadPublished) -> None:
        self._snapshot = snapshot
        self._plan = snapshot.plan
        self._request = request
        self._replay = replay
        self._read_published = read_published

    def make(self, rows: Sequence[TracedRow]) -> tuple[RowHistory, ...]:
        """Return the rows' histories."""
        groups = self._find_groups(rows)
        outputs = [output for output in self._plan.outputs if self._request.output in (None, output.seq)]
        proofs = [self._prove(output, rows) for output in outputs]
        return tuple(
            RowHistory(
                str(row.end["_row_id"]),
                self._find_origin(row),
                tuple(self._list_steps(row, groups)),
                tuple(proof[index] for proof in proofs),
            )
            for index, row in enumerate(rows)
        )

    def _find_origin(self, row: TracedRow) -> Origin:
        table = self._snapshot.input_table
        for operation in self._plan.operations:
            if operation.seq == row.origin and isinstance(operation, AppendOperation):
                table = self._plan.tables[operation.source]
        return Origin(table.dataset_id, table.dataset_version, row.origin, row.file)

    # Groups

    def _find_groups(self, rows: Sequence[TracedRow]) -> Groups:
        found = {}
        for operation in self._plan.operations:
            keys = [key for row in rows if (key := _find_key(operation, row)) is not None]
            distinct = list({tuple(key.items()): key for key in keys}.values())
            if distinct and isinstance(operation, AggregateOperation | AppendOperation):
                terms = self._request.terms.get(operation.seq, ())
                for group in self._replay.find_groups(operation, distinct, terms):
                    found[operation.seq, tuple(group.key.items())] = group
        return found

    # Steps

    def _list_steps(self, row: TracedRow, groups: Groups) -> Iterator[Step]:
        state: dict[str, str | None] = {}
        yield self._make_first_step(row, groups)
        state.update(row.made)
        for operation in self._plan.operations:
            if operation.seq <= row.origin or isinstance(operation, OutputOperation | AppendOperation):
                continue
            noted = row.steps.get(operation.seq)
            changes = _list_changes(operation, noted, state)
            state.update({change.column: change.after for change in changes})
            yield self._make_step(operation, noted, changes, self._get_group(operation, row, groups))

    def _make_first_step(self, row: TracedRow, groups: Groups) -> Step:
        changes = tuple(Change(column, None, value) for column, value in row.made.items())
        for operation in self._plan.operations:
            if operation.seq == row.origin:
                return self._make_step(operation, TracedStep({}), changes, self._get_group(operation, row, groups))
        table = self._snapshot.input_table
        mark = self._plan.marks.get(table.mark)
        return Step(0, LOADED, table.table, mark.file if mark else None, mark.line if mark else 1, True, (), changes)

    def _make_step(
        self, operation: AnyOperation, noted: TracedStep | None, changes: tuple[Change, ...], group: Group | None
    ) -> Step:
        mark = self._plan.marks.get(operation.mark)
        matches = () if noted is None else noted.matches.items()
        return Step(
            operation.seq,
            operation.type,
            operation.name,
            mark.file if mark else None,
            mark.line if mark else 1,
            noted is not None,
            tuple(JoinMatch(alias, match) for alias, match in matches),
            changes,
            group,
        )

    def _get_group(self, operation: AnyOperation, row: TracedRow, groups: Groups) -> Group | None:
        key = _find_key(operation, row)
        return None if key is None else groups[operation.seq, tuple(key.items())]

    # Proof

    def _prove(self, output: OutputOperation, rows: Sequence[TracedRow]) -> list[OutputProof]:
        selected = [row.steps.get(output.seq) for row in rows]
        wanted = [_Wanted(output, noted.after) for noted in selected if noted is not None]
        found = _look_up(output, wanted, self._read_published(output.seq)) if wanted else {}
        return [
            OutputProof(output.seq, selected=False) if noted is None else _Wanted(output, noted.after).compare(found)
            for noted in selected
        ]


class _Wanted:
    """A row that an output selects, as it is looked for among what is published."""

    def __init__(self, output: OutputOperation, values: Values) -> None:
        self.output = output
        self.values = values
        names = [column.name for column in output.columns]
        own = [name for name in names if name not in SYSTEM_TYPES]
        if output.distinct:
            # Of equal rows any one may be there.
            self.key = self.compared = tuple(own)
        else:
            # By all values: rows may be equal in all but a system column.
            self.key = ("_row_id",) if "_row_id" in names else output.key or tuple(names)
            self.compared = tuple(names)

    @property
    def identity(self) -> tuple[str | None, ...]:
        """The values by which the published row is found."""
        return tuple(self.values[name] for name in self.key)

    def compare(self, found: Mapping[tuple[str | None, ...], Values]) -> OutputProof:
        """Return the row beside the published one."""
        published = found.get(self.identity)
        if published is None:
            return OutputProof(self.output.seq, selected=True, equal=False, values=self.values)
        differences = tuple(
            Difference(name, self.values[name], published[name])
            for name in self.compared
            if self.values[name] != published[name]
        )
        return OutputProof(
            self.output.seq,
            selected=True,
            published=True,
            equal=not differences,
            differences=differences,
            values=self.values,
        )


def _look_up(
    output: OutputOperation, wanted: Sequence[_Wanted], published: DataFrame | None
) -> dict[tuple[str | None, ...], Values]:
    """Return the published rows by what identifies them."""
    if published is None:
        return {}
    key, types = wanted[0].key, {column.name: column.type for column in output.columns}
    matches = dict.fromkeys(
        "("
        + (
            " AND ".join(f"`@w`.{quote_name(name)} <=> {write_literal(row.values[name], types[name])}" for name in key)
            or "TRUE"
        )
        + ")"
        for row in wanted
    )
    rows = published.alias(WORKING).where(" OR ".join(matches))
    if not set(key) & {"_row_id", *output.key}:
        rows = rows.dropDuplicates(list(key)) if key else rows.limit(1)
    values = [f"{spell_value(f'`@w`.{quote_name(c.name)}', c.type)} AS {quote_name(c.name)}" for c in output.columns]
    texts = [_write_row(row, output.columns) for row in rows.alias(WORKING).selectExpr(*values).collect()]
    return {tuple(row[name] for name in key): row for row in texts}


def _write_row(row: Sequence[object], columns: Sequence[Column]) -> dict[str, str | None]:
    return {
        column.name: write_value(read_value(value, column.type)) for column, value in zip(columns, row, strict=True)
    }


def _find_key(operation: AnyOperation, row: TracedRow) -> Values | None:
    """Return the key of the group that an operation has made a row of, or put it into."""
    if isinstance(operation, AppendOperation) and (operation.expand is not None or not operation.aggregations):
        return None
    if not isinstance(operation, AggregateOperation | AppendOperation):
        return None
    if row.origin == operation.seq:
        return {name: row.made[name] for name in operation.group_by}
    noted = row.steps.get(operation.seq)
    return noted.after if noted is not None and isinstance(operation, AggregateOperation) else None


def _list_changes(operation: AnyOperation, noted: TracedStep | None, before: Values) -> tuple[Change, ...]:
    if noted is None or not isinstance(operation, UpdateOperation | DeleteOperation):
        return ()
    return tuple(Change(column, before.get(column), value) for column, value in noted.after.items())

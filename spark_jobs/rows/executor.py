"""Executes a plan: loads, walks through the operations, and stages the outputs in their turn.

One projection for each operation, built from SQL text. The working dataset is a few frames whose union it is; rows
that an aggregate makes are computed once and kept, so that the plan grows by one scan and not by doubling.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spark_jobs.checks.evaluation import CheckSources, Evaluation
from spark_jobs.checks.failing_rows import FailingRows
from spark_jobs.checks.input_values import InputValues
from spark_jobs.checks.messages import name_check
from spark_jobs.checks.shared_tables import list_checks, list_shared_tables
from spark_jobs.contract.checks import CheckResult
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    Join,
    Operation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.report import STEPS, OperationReport, SourceReport, name_step
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.sql import WORKING, quote_name
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.tables import name_table
from spark_jobs.errors import JobError, shorten
from spark_jobs.rows.flags import DELETED_BEFORE, added_flag, matched_flag, touched_flag
from spark_jobs.rows.joins import JoinCheck, JoinSide, TouchedRows, find_touched_rows, flag_matches
from spark_jobs.rows.matches import find_double_match, find_missing_matches
from spark_jobs.rows.operation_reports import OperationReports
from spark_jobs.rows.operations.aggregate import group_rows
from spark_jobs.rows.operations.append import fill_columns, pair_rows, read_source_rows
from spark_jobs.rows.operations.delete import delete_rows
from spark_jobs.rows.operations.output import select_output
from spark_jobs.rows.operations.update import update_rows
from spark_jobs.rows.plan_reading import list_needed_by, needs_row_ids
from spark_jobs.rows.row_ids import POSITION, find_repeated, hash_keys
from spark_jobs.rows.staging import Staging, add_columns
from spark_jobs.rows.system_columns import (
    complete_loaded_rows,
    complete_new_rows,
    format_timestamp,
    name_values,
    pick_unchanging,
)
from spark_jobs.rows.working import Part, WorkingDataset, find_pending, union
from spark_jobs.sources import (
    Credentials,
    LoadedTable,
    SourceContext,
    find_loaded_as,
    load_tables,
    refuse_replaced_files,
    report_sources,
)
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from spark_jobs.sources.sizes import choose_join_strategy
from spark_jobs.sources.splits import SPLIT_SETTING, spread_files
from spark_jobs.sources.tables import find_unsigned
from spark_jobs.spark.jvm import describe_jobs
from spark_jobs.spark.session import configure_session
from spark_jobs.spark.translation import is_double_match, translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.sinks.protocol import Sinks, StagedOutput


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """What an execution did, before anything is published."""

    operations: tuple[OperationReport, ...]
    outputs: tuple[StagedOutput, ...]
    rows_in: int | None
    checks: tuple[CheckResult, ...] = ()
    sources: tuple[SourceReport, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds that no operation has taken, by what took them."""


def refuse_credentials(reference: str) -> Mapping[str, str]:
    """Stand in for a source of credentials where there is none."""
    raise JobError("CATALOG_004", f"there are no credentials for {reference} here")


def execute(
    spark: SparkSession,
    snapshot: Snapshot,
    sinks: Sinks,
    *,
    credentials: Credentials = refuse_credentials,
    progress: Callable[[OperationReport], None] | None = None,
    failing_rows_uri: str | None = None,
    on_sources: Callable[[tuple[SourceReport, ...]], None] | None = None,
) -> ExecutionReport:
    """Execute a snapshot's operations, stage its outputs and evaluate its checks; every failure is a JobError.

    Rows that fail a check are kept in the folder `failing_rows_uri`. A check that fails does not fail the execution.
    `on_sources` gets what will be read before anything is computed; what it raises stops the run.
    """
    configure_session(spark)
    execution = Execution(
        spark, snapshot, sinks, credentials, progress or (lambda _: None), failing_rows_uri, on_sources
    )
    try:
        return execution.run()
    except Exception as error:
        raise execution.explain(error) from error
    finally:
        execution.release()


class Execution:
    """One walk through a plan."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        sinks: Sinks,
        credentials: Credentials,
        progress: Callable[[OperationReport], None],
        failing_rows_uri: str | None = None,
        on_sources: Callable[[tuple[SourceReport, ...]], None] | None = None,
    ) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self._plan = snapshot.plan
        self._sinks = sinks
        self._progress = progress
        self._on_sources = on_sources
        self._database_snapshots = DatabaseSnapshots(spark)
        self._sources = SourceContext(
            spark,
            snapshot.period.identifier,
            snapshot.as_of,
            credentials,
            self._database_snapshots,
            needs_row_ids(self._plan),
        )
        # Rows that operations make have all columns from the start: rows of one form share their generated code.
        self._columns_at_end = self._plan.columns
        self._timestamp = format_timestamp(snapshot)
        self._token = uuid.uuid4().hex[:12]
        self._loaded: dict[str, LoadedTable] = {}
        self._loaded_as = find_loaded_as(self._plan)
        self._sides: dict[int, JoinSide] = {}
        self._strategies: dict[tuple[str, tuple[str, ...]], str] = {}
        self._checks: list[JoinCheck] = []
        self._kept: list[DataFrame] = []
        self._outputs: list[StagedOutput] = []
        self._reports = OperationReports(self._plan.operations)
        self._timings: dict[str, float] = {}
        self._has_spread = False
        self._input = InputValues(self._plan.checks, self._plan.operations)
        self._evaluation = Evaluation(
            list_checks(self._plan, self._loaded_as),
            CheckSources(sinks, lambda key: self._loaded[key].frame.drop(POSITION), self._open_input),
            FailingRows(spark, failing_rows_uri, self._plan.keep_failing_rows),
            snapshot.overrides,
        )

    def run(self) -> ExecutionReport:
        """Execute all operations in order."""
        with self._time("load_seconds"):
            self._sinks.begin()
            self._loaded = load_tables(self._sources, self._plan)
            sources = report_sources(self._loaded.values())
            if self._on_sources is not None:
                self._on_sources(sources)
            self._keep_shared_tables()
            staging = Staging(self._spark, self._sinks, all(table.is_small for table in self._loaded.values()))
            working = self._load_input(staging)
        for ordinal, operation in enumerate(self._plan.operations, start=1):
            self._stage_early(working, staging, self._plan.operations[ordinal - 1 :])
            begin = time.monotonic()
            working.computing = operation.seq
            describe_jobs(self._spark, name_step(operation.seq, operation.name))
            self._apply(working, operation, ordinal)
            if isinstance(operation, OutputOperation) and self._sinks.can_read_back(operation):
                self._evaluation.begin(operation.seq)
            self._reports.seconds[operation.seq] += time.monotonic() - begin
            self._progress(self._reports.report(working, operation))
        with self._time("unread_seconds"):
            working.computing = None
            self._settle(working)
        rows_in = working.counts.get(added_flag(0))
        with self._time("check_seconds"):
            checks = self._evaluate_checks(rows_in)
        for loaded in {id(loaded): loaded for loaded in self._loaded.values()}.values():
            refuse_replaced_files(self._sources, loaded)
        return ExecutionReport(
            self._reports.report_all(working), tuple(self._outputs), rows_in, checks, sources, self._timings
        )

    def _stage_early(self, working: WorkingDataset, staging: Staging, operations: Sequence[AnyOperation]) -> None:
        """Materialise rows that the next operations read where that pays; time counts for the output that has them."""
        begin = time.monotonic()
        working.computing = operations[0].seq
        describe_jobs(self._spark, name_step(operations[0].seq, operations[0].name))
        early = staging.materialise(working, operations)
        if early is not None:
            self._note_staged(early)
            if early.uri is not None:
                self._evaluation.begin_early(early.seq)
        self._reports.seconds[operations[0].seq if early is None else early.seq] += time.monotonic() - begin

    @contextmanager
    def _time(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        describe_jobs(self._spark, STEPS[name])
        yield
        self._timings[name] = round(time.monotonic() - begin, 3)

    def _evaluate_checks(self, rows_in: int | None) -> tuple[CheckResult, ...]:
        if not self._plan.checks:
            return ()
        # Files without rows are removed, which a read may have listed.
        self._evaluation.wait()
        self._sinks.seal()
        # Without a count of its rows the input has not been read.
        return self._evaluation.finish(self._input.read(rows_in) if rows_in is not None else {})

    def _open_input(self) -> DataFrame:
        if self._input.rows is not None:
            return self._input.rows
        loaded = self._loaded[self._plan.input]
        values = complete_loaded_rows(loaded, self._snapshot, self._plan.input_columns)
        return loaded.frame.alias(WORKING).selectExpr(*name_values(values))

    def explain(self, error: Exception) -> JobError:
        """Return what went wrong in terms of the project."""
        if isinstance(error, JobError):
            return error
        if is_double_match(error):
            found = find_double_match(self._checks)
            if found is not None:
                return found
        translated = translate(error, self._plan)
        if translated.code == "JOIN_011":
            return find_missing_matches(self._checks) or translated
        if translated.code == "INFRA_001":
            return find_unsigned(self._spark, self._plan.tables.values()) or translated
        return name_check(translated, self._plan.checks)

    def release(self) -> None:
        """Release everything that was kept in the session, and the connections to databases."""
        self._evaluation.stop()
        self._database_snapshots.close()
        for frame in self._kept:
            frame.unpersist()
        for side in self._sides.values():
            self._spark.catalog.dropTempView(side.view)
        if self._has_spread:
            self._spark.conf.unset(SPLIT_SETTING)

    def _load_input(self, staging: Staging) -> WorkingDataset:
        loaded = self._loaded[self._plan.input]
        self._has_spread = spread_files(self._spark, loaded.parquet_files)
        if "_row_id" in loaded.kept:
            self._refuse_repeated_ids(loaded)
        values = complete_loaded_rows(loaded, self._snapshot, self._plan.input_columns)
        flags = {added_flag(0): "TRUE"}
        if "_deleted" in loaded.kept:
            flags[DELETED_BEFORE] = "`@w`.`_deleted`"
        working = WorkingDataset([], self._plan.input_columns, totals=self._input.totals)
        position = f"`@w`.{quote_name(POSITION)}"
        made = [*name_values(values), *working.register.add((), flags).columns, position]
        frame = self._input.observe(loaded.frame.alias(WORKING).selectExpr(*made))
        depth = 0 if loaded.is_file_scan else 1
        unchanging = pick_unchanging(values)
        origins = frozenset({0})
        part = Part(frame, frozenset(values), origins, tuple(flags), depth=depth, unchanging=unchanging)
        if self._input.is_grouped:
            read = list_needed_by(self._plan.operations) | self._input.list_columns(values)
            part = staging.keep_loaded(part, read, is_small=loaded.is_small)
            self._input.rows = working.drop_flags(part)
        working.append(part)
        return working

    def _keep_shared_tables(self) -> None:
        """Let a table that both operations and checks read be read once."""
        for shared in list_shared_tables(self._plan, self._loaded_as):
            loaded = self._loaded[shared]
            kept = replace(loaded, frame=self._keep(loaded.frame), is_file_scan=False)
            self._loaded |= {key: kept for key, same in self._loaded_as.items() if same == shared}

    def _refuse_repeated_ids(self, loaded: LoadedTable) -> None:
        repeated = find_repeated(loaded.frame.select("_row_id"))
        if repeated is not None:
            raise JobError(
                "DATA_003",
                f"{name_table(loaded.table)}: more than one row has the _row_id {shorten(repeated, 80)}",
                hint="row ids that a source brings along must be unique",
                mark=loaded.table.mark,
                column="_row_id",
            )

    def _apply(self, working: WorkingDataset, operation: AnyOperation, ordinal: int) -> None:
        if isinstance(operation, UpdateOperation):
            self._update(working, operation)
        elif isinstance(operation, DeleteOperation):
            self._delete(working, operation)
        elif isinstance(operation, AggregateOperation):
            self._aggregate(working, operation, ordinal)
        elif isinstance(operation, AppendOperation):
            self._append(working, operation, ordinal)
        else:
            self._output(working, operation)
        working.parts = [add_columns(part, operation.adds) for part in working.parts]
        working.columns = (*working.columns, *operation.adds)

    def _update(self, working: WorkingDataset, operation: UpdateOperation) -> None:
        part = working.take(operation, 1 + len(operation.assignments) + len(operation.joins))
        if part is None:
            flags_of_joins = [matched_flag(operation.seq, join.alias) for join in operation.joins]
            working.counts |= dict.fromkeys((touched_flag(operation.seq), *flags_of_joins), 0)
            working.computed_with[operation.seq] = operation.seq
            return
        rows = self._touch(part.frame, operation)
        # Without a selector it touches whatever is there, which other counts say.
        new = {} if operation.where is None else {rows.flag: rows.touched}
        new |= flag_matches(rows, operation)
        flags = working.register.add(part.flags, new)
        frame = update_rows(rows, operation, self._timestamp, flags, part)
        assigned = [item.column for item in operation.assignments]
        fallible = [item.column for item in operation.assignments if item.can_fail]
        checked = tuple(dict.fromkeys((*part.checked, *fallible)))
        columns = part.columns | {*assigned}
        held = tuple(dict.fromkeys((*part.flags, *new)))
        pending = part.pending | {operation.seq}
        working.append(replace(part, frame=frame, columns=columns, flags=held, checked=checked, pending=pending))

    def _delete(self, working: WorkingDataset, operation: DeleteOperation) -> None:
        part = working.take(operation, 1 + len(operation.joins))
        if part is None:
            working.counts[touched_flag(operation.seq)] = 0
            working.computed_with[operation.seq] = operation.seq
            return
        rows = self._touch(part.frame, operation)
        flags = working.register.add(part.flags, {rows.flag: rows.touched})
        frame = delete_rows(rows, self._timestamp, flags)
        pending = part.pending | {operation.seq}
        working.append(replace(part, frame=frame, flags=(*part.flags, rows.flag), pending=pending))

    def _aggregate(self, working: WorkingDataset, operation: AggregateOperation, ordinal: int) -> None:
        read = [part for part in working.parts if operation.may_touch(part.origins)]
        rows = self._touch(_unite_rows(working, read), operation)
        groups = group_rows(rows.frame.alias(WORKING).where(rows.touched), operation.group_by, operation.aggregations)
        keys = [quote_name(name) for name in operation.group_by]
        numbered = groups.selectExpr("*", f"{self._hash(keys, operation.seq)} AS {quote_name(POSITION)}")
        source = self._snapshot.input_table.dataset_id
        self._add(working, operation, self._keep(numbered), ordinal, source, operation.group_by, read, is_kept=True)

    def _append(self, working: WorkingDataset, operation: AppendOperation, ordinal: int) -> None:
        loaded, salt = self._loaded[operation.source], self._salt(operation.seq)
        source = read_source_rows(loaded.frame, operation, salt)
        if operation.expand is None:
            read, rows = [], fill_columns(source, operation)
        else:
            read = [part for part in working.parts if operation.may_touch(part.origins)]
            touched = self._touch(_unite_rows(working, read), operation.expand.rows)
            rows = pair_rows(touched, source, operation, operation.expand, salt, is_small=loaded.is_small)
        is_kept = bool(operation.aggregations) or operation.distinct or operation.expand is not None
        if is_kept:
            rows = self._keep(rows)
        filled = [name for name in rows.columns if name in SYSTEM_TYPES]
        self._add(working, operation, rows, ordinal, operation.source_dataset_id, filled, read, is_kept=is_kept)

    def _keep(self, frame: DataFrame) -> DataFrame:
        """Return rows that are computed once and kept from then on: the plan of what they came from ends here."""
        kept = frame.localCheckpoint(eager=False)
        self._kept.append(kept)
        return kept

    def _add(
        self,
        working: WorkingDataset,
        operation: AggregateOperation | AppendOperation,
        rows: DataFrame,
        ordinal: int,
        source_dataset: str,
        filled: Sequence[str],
        read: Sequence[Part],
        *,
        is_kept: bool,
    ) -> None:
        """Add rows that an operation has made of `read`, with their flag."""
        columns = complete_new_rows(
            rows,
            self._snapshot,
            self._columns_at_end,
            seq=operation.seq,
            ordinal=ordinal,
            source_dataset=source_dataset,
            filled=filled,
        )
        flags = working.register.add((), {added_flag(operation.seq): "TRUE"})
        frame = rows.alias(WORKING).selectExpr(*columns, *flags.columns)
        names = [column.name for column in self._columns_at_end]
        checked = () if is_kept else tuple(names)
        origins = frozenset({operation.seq})
        flag = (added_flag(operation.seq),)
        pending = find_pending(read) | {operation.seq}
        working.append(Part(frame, frozenset(names), origins, flag, checked, is_kept=is_kept, pending=pending))

    def _output(self, working: WorkingDataset, operation: OutputOperation) -> None:
        unwritten = [
            index
            for index, part in enumerate(working.parts)
            if part.staged_for != operation.seq and operation.may_touch(part.origins)
        ]
        if not unwritten and any(output.seq == operation.seq for output in self._outputs):
            return
        observed = working.observe(operation.columns)
        frames = observed.frames(unwritten) or [working.take_none()]
        rows = self._touch(union(frames), operation, see_deleted=operation.include_deleted)
        selected = select_output(rows.frame.alias(WORKING).where(rows.touched), operation)
        self._note_staged(self._sinks.stage(operation, selected))
        observed.record(unwritten)

    def _note_staged(self, staged: StagedOutput) -> None:
        self._outputs.append(staged)
        self._reports.written[staged.seq] = self._reports.written.get(staged.seq, 0) + staged.rows

    def _settle(self, working: WorkingDataset) -> None:
        """Compute what no output has: an operation that must fail fails, read or not, and all rows are counted."""
        observed = working.observe(working.columns)
        pending = [index for index, (_, observation) in enumerate(observed.observed) if observation is not None]
        if pending:
            union(observed.frames(pending)).write.format("noop").mode("overwrite").save()
            observed.record(pending)

    def _touch(self, frame: DataFrame, operation: Operation, *, see_deleted: bool = False) -> TouchedRows:
        sides = {join.alias: self._choose_strategy(join, self._open_side(join.table)) for join in operation.joins}
        rows = find_touched_rows(frame, operation, sides, see_deleted=see_deleted)
        self._checks.extend(rows.checks)
        return rows

    def _open_side(self, key: str) -> JoinSide:
        loaded = self._loaded[key]
        if id(loaded) not in self._sides:
            view = f"runtime_{self._token}_{len(self._sides)}"
            loaded.frame.drop(POSITION).createOrReplaceTempView(view)
            types = {column.name: column.type for column in loaded.columns}
            self._sides[id(loaded)] = JoinSide(view, types, "BROADCAST" if loaded.is_small else None)
        return self._sides[id(loaded)]

    def _choose_strategy(self, join: Join, side: JoinSide) -> JoinSide:
        if side.strategy is not None or not join.is_hashed:
            return side
        columns = join.match_columns
        if (side.view, columns) not in self._strategies:
            self._strategies[side.view, columns] = choose_join_strategy(self._spark, side.view, columns)
        return replace(side, strategy=self._strategies[side.view, columns])

    def _hash(self, keys: list[str], seq: int) -> str:
        return hash_keys(keys, self._salt(seq))

    def _salt(self, seq: int) -> str:
        return f"{self._snapshot.project.id}:{seq}"


def _unite_rows(working: WorkingDataset, parts: Sequence[Part]) -> DataFrame:
    """Return the rows of some parts, without their flags."""
    return union([working.drop_flags(part) for part in parts] or [working.take_none()])

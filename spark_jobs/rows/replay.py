"""Replays a plan for a few rows, and notes what each operation does with them.

A walk takes rows through the operations as a run does, with the same functions. It is restricted to what is asked for
where rows come from, as far as no operation changes the columns of the condition: so a restriction reaches the files.
What needs other rows as well, such as the group of an aggregated row, is a walk of its own, restricted to the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spark_jobs.checks.values import spell_value
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.sql import WORKING, name_alias, quote_name
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.why import Group, Term, WhyRequest
from spark_jobs.rows.contributions import match_keys, sum_up
from spark_jobs.rows.executor import Execution
from spark_jobs.rows.flags import Flags
from spark_jobs.rows.operations.delete import delete_rows
from spark_jobs.rows.operations.update import update_rows
from spark_jobs.rows.row_ids import POSITION, make_prefix, read_position
from spark_jobs.rows.staging import DEEPEST_PLAN, add_columns
from spark_jobs.rows.system_columns import complete_loaded_rows, name_values
from spark_jobs.rows.traces import NoteReader, TracedRow, describe_column, list_shown, pack, show_file
from spark_jobs.rows.walks import END, Restrictions, Walk, list_changed
from spark_jobs.rows.working import Part, WorkingDataset, union
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.sources import load_tables
from spark_jobs.sources.loader import FILE
from spark_jobs.sources.splits import spread_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.comparison import Values
    from spark_jobs.contract.operations import Join, Operation
    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.contract.tables import Column
    from spark_jobs.rows.joins import TouchedRows
    from spark_jobs.sources import Credentials

DEEPEST_TRACE = 12
"""Operations after which the few rows of a trace are computed, before the plan grows too deep."""
_PREFIX = len("00000000-0000-7000-")
_NO_FLAGS = Flags((), ())


class Replay(Execution):
    """Walks through a plan for some rows; nothing is written."""

    def __init__(self, spark: SparkSession, snapshot: Snapshot, credentials: Credentials) -> None:
        super().__init__(spark, snapshot, MemorySinks(), credentials, lambda _: None)
        self._sources = replace(self._sources, needs_positions=True, needs_files=True)
        self._ordinals = {operation.seq: ordinal for ordinal, operation in enumerate(self._plan.operations, start=1)}
        self._types = {column.name: column.type for column in self._plan.columns}
        self._restrictions = Restrictions(self._plan)
        self._made: dict[tuple[int, Walk], Part] = {}

    def open(self) -> None:
        """Open the tables."""
        self._loaded = load_tables(self._sources, self._plan)
        self._has_spread = spread_files(self._spark, self._loaded[self._plan.input].parquet_files)

    @property
    def loaded_tables(self) -> list[Any]:
        """The tables that were opened."""
        return list({id(loaded): loaded for loaded in self._loaded.values()}.values())

    def trace(self, request: WhyRequest) -> tuple[list[TracedRow], bool]:
        """Return the rows asked for, and whether there are more."""
        ids = None if request.row_id is None else (request.row_id,)
        walk = Walk(END, request.conditions, ids, None if ids is None else self._find_origins(ids))
        if request.output is not None or not (ids or self._restrictions.is_restricted(walk)):
            chosen = self._choose(walk, request.output)
            found = chosen.select("_row_id").orderBy("_row_id").limit(request.limit + 1).collect()
            ids = tuple(row[0] for row in found)
            walk = Walk(row_ids=ids, origins=self._find_origins(ids))
        rows = self._collect(replace(walk, traced=True), request.limit + 1)
        return self._find_files(rows[: request.limit]), len(rows) > request.limit

    def find_groups(
        self, operation: AggregateOperation | AppendOperation, keys: Sequence[Values], terms: Sequence[Term]
    ) -> list[Group]:
        """Return the groups of these keys with the number of their rows, and the largest contributions."""
        if isinstance(operation, AppendOperation):
            rows = self._loaded[operation.source].frame.alias(WORKING).where(operation.where or "TRUE")
            types = {column.name: column.type for column in self._loaded[operation.source].columns}
            return sum_up(rows, operation.group_by, types, keys, terms, "CAST(NULL AS string)")
        conditions = match_keys(operation.group_by, self._types, keys)
        parts = self._walk(Walk(operation.seq, conditions, origins=_read_origins(operation))).parts
        touched = self._touch(union([part.frame for part in parts]), operation)
        rows = touched.frame.alias(WORKING).where(touched.touched)
        return sum_up(rows, operation.group_by, self._types, keys, terms, "`@w`.`_row_id`")

    # Which rows

    def _find_origins(self, row_ids: Iterable[str]) -> frozenset[int]:
        """Return where rows of these ids may come from, as the ids themselves say."""
        by_prefix: dict[str, set[int]] = {}
        for seq, ordinal in {0: 0, **self._ordinals}.items():
            by_prefix.setdefault(make_prefix(self._snapshot.run_timestamp, ordinal), set()).add(seq)
        found = {seq for row_id in row_ids for seq in by_prefix.get(row_id[:_PREFIX], ())}
        return frozenset(found | ({0} if self._keeps_ids else set()))

    @property
    def _keeps_ids(self) -> bool:
        return "_row_id" in self._loaded[self._plan.input].kept

    def _choose(self, walk: Walk, output: int | None) -> DataFrame:
        """Return all rows that are asked for, of an output those that it picks."""
        operation = next((each for each in self._plan.outputs if each.seq == output), None)
        if operation is None:
            return self._select(walk)
        rows = self._touch(
            self._select(replace(walk, end=operation.seq)), operation, see_deleted=operation.include_deleted
        )
        return rows.frame.alias(WORKING).where(rows.touched)

    # The walk

    def _select(self, walk: Walk) -> DataFrame:
        frame = union([part.frame for part in self._walk(walk).parts])
        for condition in walk.every_condition:
            frame = frame.alias(WORKING).where(condition.sql)
        return frame

    def _walk(self, walk: Walk) -> WorkingDataset:
        working = self._load_rows(walk)
        last_group = self._restrictions.find_last_group(walk)
        for operation in self._plan.operations:
            if operation.seq >= walk.end:
                break
            self._replay(walk, working, operation)
            working.parts = [add_columns(part, operation.adds) for part in working.parts]
            working.columns = (*working.columns, *operation.adds)
            if operation.seq == last_group:
                working.parts = [self._restrictions.restrict(walk, part, last_group) for part in working.parts]
            deepest = DEEPEST_TRACE if walk.traced else DEEPEST_PLAN
            working.parts = [self._shorten_plan(part, deepest) for part in working.parts]
        working.parts = [replace(part, frame=working.drop_flags(part), flags=()) for part in working.parts]
        return working

    def _load_rows(self, walk: Walk) -> WorkingDataset:
        loaded = self._loaded[self._plan.input]
        frame = loaded.frame
        if walk.row_ids is not None and not self._keeps_ids and self._restrictions.find_last_group(walk) < 0:
            # Numbers are compared quicker than ids are made.
            bits = self._plan.period_bits
            positions = ", ".join(f"{read_position(row_id, bits)}L" for row_id in walk.row_ids) or "NULL"
            frame = frame.where(f"{quote_name(POSITION)} IN ({positions})")
        values = complete_loaded_rows(loaded, self._snapshot, self._plan.input_columns)
        frame = frame.alias(WORKING).selectExpr(*name_values(values), quote_name(FILE))
        working = WorkingDataset([], self._plan.input_columns)
        part = self._restrictions.restrict(walk, Part(frame, frozenset(values), frozenset({0})), 0)
        working.append(self._note_made(walk, part, 0, self._plan.input_columns, with_file=True))
        return working

    def _replay(self, walk: Walk, working: WorkingDataset, operation: AnyOperation) -> None:
        if isinstance(operation, AggregateOperation | AppendOperation):
            if walk.traced and isinstance(operation, AggregateOperation):
                self._note_groups(working, operation)
            if operation.seq < self._restrictions.find_last_group(walk) or self._may_be_asked_for(walk, operation):
                working.parts.append(self._make_rows(walk, working, operation))
        elif isinstance(operation, OutputOperation):
            if walk.traced:
                self._note_selected(working, operation)
        elif walk.traced:
            self._change(working, operation)
        elif isinstance(operation, UpdateOperation):
            self._update(working, operation)
        else:
            self._delete(working, operation)

    def _may_be_asked_for(self, walk: Walk, operation: AggregateOperation | AppendOperation) -> bool:
        """Tell whether rows that an operation makes may be those asked for, as far as their values are known before."""
        if walk.origins is not None and operation.seq not in walk.origins:
            return False
        known = {"_operation_seq": f"{operation.seq}L"}
        if isinstance(operation, AggregateOperation):
            filled = {*operation.group_by, *(item.column for item in operation.aggregations), *SYSTEM_TYPES}
            known |= {name: f"CAST(NULL AS {type_})" for name, type_ in self._types.items() if name not in filled}
        fixed = self._restrictions.pick_fixed(walk, frozenset({operation.seq}), operation.seq, frozenset(known))
        names = sorted({"_operation_seq"}.union(*(condition.columns for condition in fixed)))
        row = ", ".join(f"{known[name]} AS {quote_name(name)}" for name in names)
        tests = " AND ".join(f"coalesce({condition.sql}, FALSE)" for condition in fixed) or "TRUE"
        found = self._spark.sql(f"SELECT {tests} FROM (SELECT {row}) AS `{WORKING}`").first() if fixed else None
        return found is None or bool(found[0])

    def _make_rows(self, walk: Walk, working: WorkingDataset, operation: AggregateOperation | AppendOperation) -> Part:
        """Return the rows that an operation makes, of those that are asked for."""
        origins = frozenset({operation.seq})
        inner = Walk(operation.seq)
        if isinstance(operation, AggregateOperation):
            fixed = self._restrictions.pick_fixed(
                replace(walk, row_ids=None), origins, operation.seq, frozenset(self._types)
            )
            keys = set(operation.group_by)
            conditions = tuple(condition for condition in fixed if condition.columns <= keys)
            inner = Walk(operation.seq, conditions, origins=_read_origins(operation))
        if (operation.seq, inner) not in self._made:
            needs_rows = isinstance(operation, AggregateOperation) or operation.expand is not None
            made = self._walk(inner) if needs_rows else WorkingDataset([], working.columns)
            made.parts = [replace(part, is_kept=False) for part in made.parts]
            if isinstance(operation, AggregateOperation):
                self._aggregate(made, operation, self._ordinals[operation.seq])
            else:
                self._append(made, operation, self._ordinals[operation.seq])
            part = made.parts[-1]
            part = replace(part, frame=made.drop_flags(part), flags=(), checked=(), is_kept=False)
            self._made[operation.seq, inner] = part
        part = self._restrictions.restrict(walk, self._made[operation.seq, inner], operation.seq)
        return self._note_made(walk, part, operation.seq, self._plan.columns)

    def _shorten_plan(self, part: Part, deepest: int) -> Part:
        if part.depth < deepest:
            return part
        kept = part.frame.localCheckpoint()
        self._kept.append(kept)
        return replace(part, frame=kept, depth=0)

    # What is noted of traced rows

    def _note_made(
        self, walk: Walk, part: Part, seq: int, columns: Sequence[Column], *, with_file: bool = False
    ) -> Part:
        if not walk.traced:
            return replace(part, frame=part.frame.drop(FILE)) if with_file else part
        file = [f"`@w`.{quote_name(FILE)}"] if with_file else []
        noted = part.frame.alias(WORKING).selectExpr("*", f"{pack(columns, file)} AS `@made{seq}`")
        return replace(part, frame=noted.drop(FILE))

    def _change(self, working: WorkingDataset, operation: UpdateOperation | DeleteOperation) -> None:
        part = working.take(operation, 1)
        if part is None:
            return
        rows = self._note_matches(part, operation)
        if isinstance(operation, UpdateOperation):
            frame = update_rows(rows, operation, self._timestamp, _NO_FLAGS, part)
        else:
            frame = delete_rows(rows, self._timestamp, _NO_FLAGS)
        after = pack([describe_column(self._plan, name) for name in list_changed(operation)])
        noted = f"CASE WHEN `@w`.`@step{operation.seq}` IS NOT NULL THEN {after} END AS `@after{operation.seq}`"
        columns = part.columns | set(list_changed(operation))
        working.append(replace(part, frame=frame.alias(WORKING).selectExpr("*", noted), columns=columns))

    def _note_groups(self, working: WorkingDataset, operation: AggregateOperation) -> None:
        keys = [describe_column(self._plan, name) for name in operation.group_by]
        working.parts = [self._note_only(part, operation, keys) for part in working.parts]

    def _note_selected(self, working: WorkingDataset, operation: OutputOperation) -> None:
        working.parts = [
            self._note_only(part, operation, operation.columns, see_deleted=operation.include_deleted)
            for part in working.parts
        ]

    def _note_only(
        self, part: Part, operation: Operation, columns: Sequence[Column], *, see_deleted: bool = False
    ) -> Part:
        """Note which rows an operation takes that changes none, with their values in these columns."""
        if not operation.may_touch(part.origins):
            return part
        rows = self._note_matches(part, operation, see_deleted=see_deleted)
        values = pack(columns, present=part.columns)
        noted = f"CASE WHEN `@w`.`@step{operation.seq}` IS NOT NULL THEN {values} END AS `@after{operation.seq}`"
        frame = rows.frame.drop(*rows.helpers).alias(WORKING).selectExpr("*", noted)
        return replace(part, frame=frame, depth=part.depth + 1)

    def _note_matches(self, part: Part, operation: Operation, *, see_deleted: bool = False) -> TouchedRows:
        """Flag the rows that an operation touches, and note what its joins have found for them."""
        joins = tuple(replace(join, columns=list_shown(join)) for join in operation.joins)
        rows = self._touch(part.frame, replace(operation, joins=joins), see_deleted=see_deleted)
        matches = [
            f"CASE WHEN `@w`.{quote_name(name_alias(join.alias))} IS NOT NULL THEN {self._pack_match(join)} END"
            for join in joins
        ]
        noted = f"CASE WHEN {rows.touched} THEN struct({', '.join(['TRUE', *matches])}) END"
        frame = rows.frame.alias(WORKING).selectExpr("*", f"{noted} AS `@step{operation.seq}`")
        return replace(rows, frame=frame)

    def _pack_match(self, join: Join) -> str:
        types = self._open_side(join.table).types
        alias = f"`@w`.{quote_name(name_alias(join.alias))}"
        values = [spell_value(f"{alias}.{quote_name(name)}", types[name]) for name in join.columns]
        return f"struct({', '.join(['TRUE', *values])})"

    # What was noted

    def _collect(self, walk: Walk, limit: int) -> list[TracedRow]:
        frame = self._select(walk)
        noted = [quote_name(name) for name in frame.columns if name.startswith(("@made", "@step", "@after"))]
        ordered = frame.alias(WORKING).selectExpr(f"{pack(self._plan.columns)} AS `@end`", "`_row_id` AS `@id`", *noted)
        reader = NoteReader(self._plan, lambda table: self._open_side(table).types)
        return [reader.read_row(row) for row in ordered.orderBy("@id").limit(limit).collect()]

    def _find_files(self, rows: Sequence[TracedRow]) -> list[TracedRow]:
        """Add the files of appended rows, which are found by the position that their ids hold."""
        files: dict[tuple[int, int], str] = {}
        for operation in self._plan.operations:
            if isinstance(operation, AppendOperation) and not operation.aggregations and operation.expand is None:
                positions = {row.position for row in rows if row.origin == operation.seq}
                source, position = self._loaded[operation.source].frame, quote_name(POSITION)
                if positions:
                    found = source.where(f"{position} IN ({', '.join(f'{each}L' for each in positions)})")
                    for row in found.select(POSITION, FILE).collect():
                        files[operation.seq, row[0]] = row[1]
        return [
            replace(row, file=None if file is None else show_file(file))
            if (file := files.get((row.origin, row.position))) or row.origin
            else row
            for row in rows
        ]


def _read_origins(operation: Operation) -> frozenset[int] | None:
    return None if operation.origins is None else frozenset(operation.origins)

"""Replays a plan for a few rows, and notes what each operation does with them.

A walk takes rows through the operations as a run does, with the same functions. It is restricted to what is asked for
where rows come from, as far as no operation changes the columns of the condition: so a restriction reaches the files.
What needs other rows as well, such as the group of an aggregated row, is a walk of its own, restricted to the group.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql import Observation, functions

from spark_jobs.checks.values import read_value, spell_value, write_value
from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.plan import (
    MAX_SEQ,
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.sql import WORKING, name_alias, quote_name, quote_text
from spark_jobs.contract.why import MOST_CONTRIBUTIONS, Condition, Contribution, Group, Term, WhyRequest
from spark_jobs.rows.executor import Execution
from spark_jobs.rows.flags import Flags
from spark_jobs.rows.operations.delete import delete_rows
from spark_jobs.rows.operations.update import update_rows
from spark_jobs.rows.row_ids import POSITION, make_prefix, read_position
from spark_jobs.rows.staging import DEEPEST_PLAN, add_columns
from spark_jobs.rows.system_columns import complete_loaded_rows, name_values
from spark_jobs.rows.working import Part, WorkingDataset, read_metrics, union
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.sources.loader import FILE
from spark_jobs.sources.splits import spread_files
from spark_jobs.spark.storage import get_local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.comparison import Values
    from spark_jobs.contract.plan import Column, Join, Operation
    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.rows.joins import TouchedRows
    from spark_jobs.sources import Credentials

END = MAX_SEQ + 1
DEEPEST_TRACE = 12
"""Operations after which the few rows of a trace are computed, before the plan grows too deep."""
_PREFIX = len("00000000-0000-7000-")
_NO_FLAGS = Flags((), ())


@dataclass(frozen=True, slots=True)
class Walk:
    """Which rows are taken through the operations before `end`."""

    end: int = END
    conditions: tuple[Condition, ...] = ()
    row_ids: tuple[str, ...] | None = None
    origins: frozenset[int] | None = None
    """Origins of the rows; None: any."""
    traced: bool = False

    @property
    def every_condition(self) -> tuple[Condition, ...]:
        """All conditions, the ids among them."""
        if self.row_ids is None:
            return self.conditions
        ids = ", ".join(map(quote_text, self.row_ids)) or "NULL"
        return (*self.conditions, Condition(f"`@w`.`_row_id` IN ({ids})", frozenset({"_row_id"})))


@dataclass(frozen=True, slots=True)
class TracedStep:
    """What an operation did with a row that it touched."""

    matches: Mapping[str, Values | None]
    after: Values = field(default_factory=dict)
    """Values after it; of an output the values that it selects, of an aggregate the keys of the row's group."""


@dataclass(frozen=True, slots=True)
class TracedRow:
    """A row with the values it was made with, what touched it, and the values it has at the end."""

    origin: int
    file: str | None
    made: Values
    steps: Mapping[int, TracedStep]
    end: Values

    @property
    def position(self) -> int:
        """What tells the row from others of its origin, where its id was made by the run."""
        return read_position(str(self.end["_row_id"]))


class Replay(Execution):
    """Walks through a plan for some rows; nothing is written."""

    def __init__(self, spark: SparkSession, snapshot: Snapshot, credentials: Credentials) -> None:
        super().__init__(spark, snapshot, MemorySinks(), credentials, lambda _: None)
        self._sources = replace(self._sources, needs_positions=True, needs_files=True)
        self._ordinals = {operation.seq: ordinal for ordinal, operation in enumerate(self._plan.operations, start=1)}
        self._types = {column.name: column.type for column in self._plan.columns}
        self._made: dict[tuple[int, Walk], Part] = {}

    def open(self) -> None:
        """Open the tables."""
        self._load_tables()
        self._has_spread = spread_files(self._spark, self._loaded[self._plan.input].parquet_files)

    @property
    def loaded_tables(self) -> list[Any]:
        """The tables that were opened."""
        return list({id(loaded): loaded for loaded in self._loaded.values()}.values())

    def trace(self, request: WhyRequest) -> tuple[list[TracedRow], bool]:
        """Return the rows asked for, and whether there are more."""
        ids = None if request.row_id is None else (request.row_id,)
        walk = Walk(END, request.conditions, ids, None if ids is None else self._find_origins(ids))
        if request.output is not None or not (ids or self._is_restricted(walk)):
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
            return _sum_up(rows, operation.group_by, types, keys, terms, "CAST(NULL AS string)")
        conditions = _match_keys(operation.group_by, self._types, keys)
        parts = self._walk(Walk(operation.seq, conditions, origins=_read_origins(operation))).parts
        touched = self._touch(union([part.frame for part in parts]), operation)
        rows = touched.frame.alias(WORKING).where(touched.touched)
        return _sum_up(rows, operation.group_by, self._types, keys, terms, "`@w`.`_row_id`")

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

    def _is_restricted(self, walk: Walk) -> bool:
        """Tell whether all conditions hold where rows are made, so that few rows are taken along."""
        made = {operation.seq for operation in self._plan.operations if _makes_rows(operation)}
        origins = {0, *made} if walk.origins is None else walk.origins
        return all(self._holds_from(walk, origin) for origin in origins)

    def _holds_from(self, walk: Walk, origin: int) -> bool:
        since = max(origin, self._find_last_group(walk))
        columns = frozenset(self._types)
        if origin == 0:
            later = {column.name for each in self._plan.operations if each.seq > since for column in each.adds}
            columns -= later
        return len(self._pick_fixed(walk, frozenset({origin}), since, columns)) == len(walk.every_condition)

    def _pick_fixed(self, walk: Walk, origins: frozenset[int], since: int, columns: frozenset[str]) -> list[Condition]:
        """Return the conditions that hold at the end of the walk for the rows for which they hold now."""
        if since < self._find_last_group(walk):
            # Values over groups need all rows of the groups.
            return []
        changed = set[str]()
        for operation in self._plan.operations:
            if since < operation.seq < walk.end and operation.may_touch(origins):
                changed.update(_list_changed(operation))
        return [
            condition
            for condition in walk.every_condition
            if condition.columns <= columns and not condition.columns & changed
        ]

    def _find_last_group(self, walk: Walk) -> int:
        return max(
            (
                operation.seq
                for operation in self._plan.operations
                if isinstance(operation, UpdateOperation) and operation.group_steps and operation.seq < walk.end
            ),
            default=-1,
        )

    def _restrict(self, walk: Walk, part: Part, since: int) -> Part:
        frame = part.frame
        if since >= self._find_last_group(walk) and walk.origins is not None and not part.origins & walk.origins:
            return replace(part, frame=frame.where("FALSE"))
        for condition in self._pick_fixed(walk, part.origins, since, part.columns):
            frame = frame.alias(WORKING).where(condition.sql)
        return replace(part, frame=frame)

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
        last_group = self._find_last_group(walk)
        for operation in self._plan.operations:
            if operation.seq >= walk.end:
                break
            self._replay(walk, working, operation)
            working.parts = [add_columns(part, operation.adds) for part in working.parts]
            working.columns = (*working.columns, *operation.adds)
            if operation.seq == last_group:
                working.parts = [self._restrict(walk, part, last_group) for part in working.parts]
            deepest = DEEPEST_TRACE if walk.traced else DEEPEST_PLAN
            working.parts = [self._shorten_plan(part, deepest) for part in working.parts]
        working.parts = [replace(part, frame=working.drop_flags(part), flags=()) for part in working.parts]
        return working

    def _load_rows(self, walk: Walk) -> WorkingDataset:
        loaded = self._loaded[self._plan.input]
        frame = loaded.frame
        if walk.row_ids is not None and not self._keeps_ids and self._find_last_group(walk) < 0:
            # Numbers are compared quicker than ids are made.
            positions = ", ".join(f"{read_position(row_id)}L" for row_id in walk.row_ids) or "NULL"
            frame = frame.where(f"{quote_name(POSITION)} IN ({positions})")
        values = complete_loaded_rows(loaded, self._snapshot, self._plan.input_columns)
        frame = frame.alias(WORKING).selectExpr(*name_values(values), quote_name(FILE))
        working = WorkingDataset([], self._plan.input_columns)
        part = self._restrict(walk, Part(frame, frozenset(values), frozenset({0})), 0)
        working.append(self._note_made(walk, part, 0, self._plan.input_columns, with_file=True))
        return working

    def _replay(self, walk: Walk, working: WorkingDataset, operation: AnyOperation) -> None:
        if isinstance(operation, AggregateOperation | AppendOperation):
            if walk.traced and isinstance(operation, AggregateOperation):
                self._note_groups(working, operation)
            if walk.origins is None or operation.seq in walk.origins or operation.seq < self._find_last_group(walk):
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

    def _make_rows(self, walk: Walk, working: WorkingDataset, operation: AggregateOperation | AppendOperation) -> Part:
        """Return the rows that an operation makes, of those that are asked for."""
        origins = frozenset({operation.seq})
        inner = Walk(operation.seq)
        if isinstance(operation, AggregateOperation):
            fixed = self._pick_fixed(replace(walk, row_ids=None), origins, operation.seq, frozenset(self._types))
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
        part = self._restrict(walk, self._made[operation.seq, inner], operation.seq)
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
        noted = part.frame.alias(WORKING).selectExpr("*", f"{_pack(columns, file)} AS `@made{seq}`")
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
        after = _pack([self._describe(name) for name in _list_changed(operation)])
        noted = f"CASE WHEN `@w`.`@step{operation.seq}` IS NOT NULL THEN {after} END AS `@after{operation.seq}`"
        columns = part.columns | set(_list_changed(operation))
        working.append(replace(part, frame=frame.alias(WORKING).selectExpr("*", noted), columns=columns))

    def _note_groups(self, working: WorkingDataset, operation: AggregateOperation) -> None:
        keys = [self._describe(name) for name in operation.group_by]
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
        values = _pack(columns, present=part.columns)
        noted = f"CASE WHEN `@w`.`@step{operation.seq}` IS NOT NULL THEN {values} END AS `@after{operation.seq}`"
        frame = rows.frame.drop(*rows.helpers).alias(WORKING).selectExpr("*", noted)
        return replace(part, frame=frame, depth=part.depth + 1)

    def _note_matches(self, part: Part, operation: Operation, *, see_deleted: bool = False) -> TouchedRows:
        """Flag the rows that an operation touches, and note what its joins have found for them."""
        joins = tuple(replace(join, columns=_list_shown(join)) for join in operation.joins)
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

    def _describe(self, name: str) -> Column:
        return next(column for column in self._plan.columns if column.name == name)

    # What was noted

    def _collect(self, walk: Walk, limit: int) -> list[TracedRow]:
        frame = self._select(walk)
        noted = [quote_name(name) for name in frame.columns if name.startswith(("@made", "@step", "@after"))]
        ordered = frame.alias(WORKING).selectExpr(
            f"{_pack(self._plan.columns)} AS `@end`", "`_row_id` AS `@id`", *noted
        )
        return [self._read_row(row) for row in ordered.orderBy("@id").limit(limit).collect()]

    def _read_row(self, row: Any) -> TracedRow:
        end = _unpack(row["@end"], self._plan.columns)
        present = set(row.__fields__)
        origin = int(end["_operation_seq"] or 0)
        columns = self._plan.columns if origin else self._plan.input_columns
        made = row[f"@made{origin}"]
        file = made[1 + len(columns)] if origin == 0 else None
        steps = {}
        for operation in self._plan.operations:
            name = f"@step{operation.seq}"
            if operation.seq > origin and name in present and row[name] is not None:
                steps[operation.seq] = self._read_step(operation, row[name], row[f"@after{operation.seq}"])
        return TracedRow(origin, None if file is None else _show_file(file), _unpack(made, columns), steps, end)

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
            replace(row, file=None if file is None else _show_file(file))
            if (file := files.get((row.origin, row.position))) or row.origin
            else row
            for row in rows
        ]

    def _read_step(self, operation: AnyOperation, step: Any, after: Any) -> TracedStep:
        matches: dict[str, Values | None] = {}
        for index, join in enumerate(operation.joins, start=1):
            types = self._open_side(join.table).types
            names = _list_shown(join)
            match = step[index]
            matches[join.alias] = None if match is None else _read_values(match, names, types)
        if isinstance(operation, OutputOperation):
            columns: Sequence[Column] = operation.columns
        elif isinstance(operation, AggregateOperation):
            columns = [self._describe(name) for name in operation.group_by]
        else:
            columns = [self._describe(name) for name in _list_changed(operation)]
        return TracedStep(matches, _unpack(after, columns))


def _pack(columns: Sequence[Column], more: Sequence[str] = (), present: Container[str] | None = None) -> str:
    """Return SQL of a struct that is never NULL with the values of these columns, as they are fetched.

    Columns that are not `present` are NULL.
    """
    values = [
        spell_value(f"`@w`.{quote_name(column.name)}", column.type)
        if present is None or column.name in present
        else "CAST(NULL AS string)"
        for column in columns
    ]
    return f"struct({', '.join(['TRUE', *values, *more])})"


def _unpack(packed: Any, columns: Sequence[Column]) -> dict[str, str | None]:
    return _read_values(packed, [column.name for column in columns], {column.name: column.type for column in columns})


def _read_values(packed: Any, names: Sequence[str], types: Mapping[str, str]) -> dict[str, str | None]:
    return {name: write_value(read_value(packed[index], types[name])) for index, name in enumerate(names, start=1)}


def _show_file(uri: str) -> str:
    """Return a file's address as people write it."""
    return unquote(get_local_path(uri) if is_local(uri) else uri)


def _list_shown(join: Join) -> tuple[str, ...]:
    """Return the columns of an alias that are shown: those of its condition first."""
    own = (read.column for read in join.reads if read.alias == join.alias)
    return tuple(dict.fromkeys((*own, *join.columns)))


def _list_changed(operation: AnyOperation) -> tuple[str, ...]:
    if isinstance(operation, UpdateOperation):
        return (*(item.column for item in operation.assignments), "_updated_at")
    return ("_deleted", "_updated_at") if isinstance(operation, DeleteOperation) else ()


def _makes_rows(operation: AnyOperation) -> bool:
    return isinstance(operation, AggregateOperation | AppendOperation)


def _read_origins(operation: Operation) -> frozenset[int] | None:
    return None if operation.origins is None else frozenset(operation.origins)


def _spell_literal(value: str | None, type_: str) -> str:
    return f"CAST(NULL AS {type_})" if value is None else f"CAST({quote_text(value)} AS {type_})"


def _match_keys(names: Sequence[str], types: Mapping[str, str], keys: Sequence[Values]) -> tuple[Condition, ...]:
    """Return the conditions that rows of one of the groups fulfil: of each column, and of all together."""

    def match(key: Values, names: Sequence[str]) -> str:
        return " AND ".join(f"`@w`.{quote_name(name)} <=> {_spell_literal(key[name], types[name])}" for name in names)

    sets = [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else [])
    return tuple(
        Condition(" OR ".join(dict.fromkeys(f"({match(key, found)})" for key in keys)), frozenset(found))
        for found in sets
    )


def _sum_up(
    rows: DataFrame,
    names: Sequence[str],
    types: Mapping[str, str],
    keys: Sequence[Values],
    terms: Sequence[Term],
    row_id: str,
) -> list[Group]:
    """Count the rows of each group, and find the largest contributions, in one action."""
    for condition in _match_keys(names, types, keys):
        rows = rows.alias(WORKING).where(condition.sql)
    group = " ".join(
        f"WHEN {' AND '.join(f'`@w`.{quote_name(n)} <=> {_spell_literal(key[n], types[n])}' for n in names) or 'TRUE'}"
        f" THEN {index}"
        for index, key in enumerate(keys)
    )
    values = [
        f"named_struct('term', {index}, 'value', CAST({term.sql} AS string), 'size', abs(CAST({term.sql} AS double)))"
        for index, term in enumerate(terms)
    ]
    numbered = rows.alias(WORKING).selectExpr(
        f"CASE {group} END AS `@group`", f"{row_id} AS `@id`", f"array({', '.join(values)}) AS `@terms`"
    )
    counted = Observation("why_groups")
    counts = [functions.expr(f"count_if(`@group` = {index})").alias(f"g{index}") for index in range(len(keys))]
    observed = numbered.observe(counted, *counts)
    if not terms:
        observed.write.format("noop").mode("overwrite").save()
        largest = []
    else:
        place = "row_number() OVER (PARTITION BY `@group`, term ORDER BY size DESC, `@id`, value) AS place"
        exploded = observed.selectExpr("`@group`", "`@id`", "inline(`@terms`)").where("value IS NOT NULL")
        ranked = exploded.selectExpr("*", place).where(f"place <= {MOST_CONTRIBUTIONS}")
        largest = ranked.orderBy("`@group`", "term", "place").collect()
    found = read_metrics(counted) or {}
    return [
        Group(
            key,
            int(found.get(f"g{index}") or 0),
            tuple(
                Contribution(terms[row["term"]].column, row["@id"], row["value"])
                for row in largest
                if row["@group"] == index
            ),
        )
        for index, key in enumerate(keys)
    ]

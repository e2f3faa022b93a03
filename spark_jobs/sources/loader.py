"""Loads a table: finds its columns at each location, filters by period, casts, and puts the locations together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spark_jobs.contract.fingerprints import FileState, list_committed, take_fingerprint
from spark_jobs.contract.report import SourceReport
from spark_jobs.contract.sql import quote_name, quote_text
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.tables import name_table
from spark_jobs.errors import JobError, raise_sql
from spark_jobs.rows.row_ids import POSITION, number_by_content
from spark_jobs.sources.columns import Wanted, build_column
from spark_jobs.sources.folder_columns import IN_BOTH
from spark_jobs.sources.json_halves import refuse_halves
from spark_jobs.sources.numbering import number_files
from spark_jobs.sources.opening import SourceContext, open_locations, relax_older_slice
from spark_jobs.sources.period_filter import build_period_filter
from spark_jobs.sources.seen_files import find_replaced, look_again
from spark_jobs.sources.shared_places import check_shared_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.tables import Location, Table
    from spark_jobs.sources.raw_rows import RawRows

DELETED = "_deleted"
FILE = "@file"
"""Column with the file that a row was read from, where that is asked for."""
WORKED_ON = ("input", "append")
"""Roles of tables whose rows become rows of the working dataset."""
KEPT_COLUMNS = ("_row_id", "_created_by_run", "_created_at", "_updated_at", "_deleted", "_labels")


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table's rows of the run: declared, temporal and kept system columns, and a row's position."""

    table: Table
    frame: DataFrame
    columns: tuple[Wanted, ...]
    is_small: bool
    is_file_scan: bool
    kept: frozenset[str]
    """System columns that some location has."""
    opened: tuple[RawRows, ...] = ()

    @property
    def parquet_files(self) -> tuple[str, ...]:
        """The files of a table that is Parquet in one place."""
        return self.opened[0].files if [rows.location.holds_parquet for rows in self.opened] == [True] else ()


def list_columns(table: Table) -> tuple[Wanted, ...]:
    """Return all columns that a loaded table has: declared, temporal, and for rows that are kept, system columns."""
    columns = {column.name: Wanted(column.name, column.type, column.nullable) for column in table.columns}
    temporal = table.temporal
    if temporal.mode == "period":
        columns.setdefault(temporal.period_column, Wanted(temporal.period_column, "string", optional=True))
    elif temporal.mode == "bitemporal":
        columns.setdefault(temporal.from_column, Wanted(temporal.from_column, "date"))
        columns.setdefault(temporal.to_column, Wanted(temporal.to_column, "date"))
    for name in KEPT_COLUMNS if table.role == "input" else (DELETED,):
        columns.setdefault(name, Wanted(name, SYSTEM_TYPES[name], optional=True))
    return tuple(columns.values())


def load_table(context: SourceContext, table: Table) -> LoadedTable:
    """Return the rows of a table that the run sees, as its declaration says they are."""
    wanted = list_columns(table)
    opened = open_locations(context, table, wanted)
    check_shared_places(table, opened, lambda rows, column: _ColumnReader(context, table, rows).read(column))
    if _is_numbered(context, table):
        opened = number_files(opened)
    if table.role != "input":
        # Rows that their own source has deleted take no part in joins, lookups and appends.
        wanted = tuple(column for column in wanted if column.name != DELETED)
    frames = [_shape_rows(context, table, wanted, rows) for rows in opened]
    frame = _unite(frames) if frames else _make_empty(context, table, wanted)
    if _is_numbered(context, table) and any(rows.position is None for rows in opened):
        frame = number_by_content(frame, [column.name for column in wanted], _list_beside(context, table))
    return LoadedTable(
        table,
        frame,
        wanted,
        is_small=all(rows.is_small for rows in opened),
        is_file_scan=all(rows.location.kind in ("files", "table") and not rows.is_text for rows in opened),
        kept=frozenset(name for rows in opened for name in rows.frame.columns) & SYSTEM_TYPES.keys(),
        opened=tuple(opened),
    )


def report_sources(tables: Iterable[LoadedTable]) -> tuple[SourceReport, ...]:
    """Return what was read, one report for each table of a dataset's version."""
    opened: dict[tuple[str, str, int], list[RawRows]] = {}
    for loaded in tables:
        table = loaded.table
        opened.setdefault((table.table, table.dataset_id, table.dataset_version), []).extend(loaded.opened)
    reports = []
    for key, places in opened.items():
        known = all(rows.seen_files is not None for rows in places)
        states = {file.state for rows in places for file in rows.seen_files or ()} if known else set()
        identities = {state for rows in places for state in _identify(rows)}
        counted = (len(states), sum(state.bytes for state in states), take_fingerprint(identities)) if known else ()
        reports.append(SourceReport(*key, *counted))
    return tuple(reports)


def _identify(rows: RawRows) -> list[FileState]:
    """Return what identifies the files of a location."""
    if rows.location.kind == "table":
        return list_committed(rows.location)
    return [file.state for file in rows.seen_files or ()]


def refuse_replaced_files(context: SourceContext, loaded: LoadedTable) -> None:
    """Raise DATA_004 when a file has been replaced since the run began: what was read may be of both."""
    for rows in loaded.opened:
        now = look_again(context.spark, rows.files) if rows.seen_files else None
        replaced = find_replaced(rows.seen_files or (), now or ())
        if replaced is not None:
            message = f"{name_table(loaded.table)}: {replaced} was replaced while the run read it"
            hint = "do not change a location's files while a run reads them; run again"
            raise JobError("DATA_004", message, hint=hint, mark=loaded.table.mark)


def _unite(frames: list[DataFrame]) -> DataFrame:
    """Return the rows of all frames in their order; in pairs, because Spark looks at all of a plan at each step."""
    while len(frames) > 1:
        pairs = [frames[index : index + 2] for index in range(0, len(frames), 2)]
        frames = [pair[0].unionByName(pair[1]) if len(pair) > 1 else pair[0] for pair in pairs]
    return frames[0]


def _is_numbered(context: SourceContext, table: Table) -> bool:
    return context.needs_positions and table.role in WORKED_ON


def _shape_rows(context: SourceContext, table: Table, wanted: tuple[Wanted, ...], rows: RawRows) -> DataFrame:
    read = _ColumnReader(context, table, rows).read
    frame = rows.frame
    as_of = table.as_of or context.as_of
    predicate = build_period_filter(table, rows.location, run_period=context.run_period, as_of=as_of, read=read)
    if predicate is not None:
        frame = frame.where(predicate)
    if table.role != "input" and DELETED in frame.columns:
        deleted = read(Wanted(DELETED, SYSTEM_TYPES[DELETED]))
        frame = frame.where(f"{deleted} IS NULL OR NOT {deleted}")
    columns, kept = [], relax_older_slice(wanted, rows)
    for column in kept:
        value = read(column)
        if value is None:
            value = _fill_missing(context, table, rows.location, column)
        columns.append(f"{value} AS {quote_name(column.name)}")
    position = rows.position or "CAST(NULL AS bigint)"
    has_file = rows.location.kind in ("files", "table") and "_metadata" not in frame.columns and rows.files
    file = "_metadata.file_path" if has_file else "CAST(NULL AS string)"
    others = _list_beside(context, table)
    beside = [f"{file} AS {quote_name(name)}" for name in others]
    shaped = frame.selectExpr(*columns, f"{position} AS {quote_name(POSITION)}", *beside)
    if rows.json_lines is not None and any(column.type == "string" for column in table.columns):
        made = [Wanted(POSITION, "bigint"), *(Wanted(name, "string") for name in others)]
        shaped = shaped.unionByName(refuse_halves(rows.json_lines, [*kept, *made], table.mark))
    return shaped


def _list_beside(context: SourceContext, table: Table) -> list[str]:
    """Return the columns that rows have beside their own and their position."""
    return [FILE] if context.needs_files and table.role in WORKED_ON else []


class _ColumnReader:
    """Builds the SQL that reads columns of one location."""

    def __init__(self, context: SourceContext, table: Table, rows: RawRows) -> None:
        self._context = context
        self._table = table
        self._rows = rows
        self._physical = {field.name: field.dataType.simpleString() for field in rows.frame.schema.fields}

    def read(self, column: Wanted) -> str | None:
        """Return SQL of a column as the type wanted; None when the location has no such column."""
        if column.name not in self._physical:
            return None
        rows, table = self._rows, self._table
        is_period = _is_period_column(table, column)
        reference = quote_name(column.name)
        if rows.location.kind == "jdbc" and column.type == "string" and not is_period:
            # Compared by Spark: the database would do it in the order of its collation.
            reference = f"concat({reference}, '')"
        from_folder = rows.folder_values.get(column.name)
        value = build_column(
            column,
            from_folder or reference,
            self._physical[column.name],
            mark=table.mark,
            is_text=rows.is_text or column.name in rows.texts,
            # A period is compared as it is, so that Spark can leave out the other ones while it reads.
            formats=replace(rows.formats, was_decoded=False) if is_period else rows.formats,
        )
        if from_folder is not None:
            refused = raise_sql("DATA_002", quote_text(IN_BOTH), mark=table.mark, column=column.name)
            return f"CASE WHEN {reference} IS NOT NULL THEN {refused} ELSE {value} END"
        if rows.location.format == "json" and is_period:
            # In JSON a key that is absent and a NULL are one thing.
            return f"coalesce({value}, {_fill_missing(self._context, table, rows.location, column)})"
        return value


def _fill_missing(context: SourceContext, table: Table, location: Location, column: Wanted) -> str:
    """A period-mode table without a period column takes the period of its location."""
    if _is_period_column(table, column):
        return quote_text(location.period or context.run_period)
    return f"CAST(NULL AS {column.type})"


def _is_period_column(table: Table, column: Wanted) -> bool:
    return table.temporal.mode == "period" and column.name == table.temporal.period_column


def _make_empty(context: SourceContext, table: Table, wanted: tuple[Wanted, ...]) -> DataFrame:
    columns = [f"CAST(NULL AS {column.type}) AS {quote_name(column.name)}" for column in wanted]
    columns += [f"CAST(NULL AS string) AS {quote_name(name)}" for name in _list_beside(context, table)]
    return context.spark.range(0).selectExpr(*columns, f"id AS {quote_name(POSITION)}")

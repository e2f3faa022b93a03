"""Loads a table: finds its columns at each location, filters by period, casts, and puts the locations together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, IllegalArgumentException

from spark_jobs.contract.codes import Code
from spark_jobs.contract.plan import name_table
from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.errors import JobError, MarkedProblem, shorten
from spark_jobs.rows.row_ids import POSITION, number_by_content
from spark_jobs.sources.columns import Wanted, build_column, find_mismatches
from spark_jobs.sources.files import UnreadableTypesError, read_files
from spark_jobs.sources.jdbc import read_jdbc
from spark_jobs.sources.memory import read_memory
from spark_jobs.sources.moments import Moments
from spark_jobs.sources.numbering import number_files
from spark_jobs.sources.period_filter import build_period_filter
from spark_jobs.sources.read_errors import find_read_failure, find_wrong_option, is_unreachable
from spark_jobs.sources.relation import Credentials, MissingDataError, Relation
from spark_jobs.spark.jvm import list_causes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.plan import Location, Table

DELETED = "_deleted"
_SCHEMA_HINT = "declare in the dataset what the data have, or write what is declared"
_WORKED_ON = ("input", "append")
KEPT_COLUMNS = ("_row_id", "_created_by_run", "_created_at", "_updated_at", "_deleted", "_labels")


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What reading depends on beside the table."""

    spark: SparkSession
    run_period: str
    as_of: date
    credentials: Credentials
    moments: Moments
    needs_positions: bool = True
    """That somebody wants row ids."""


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
    files: tuple[str, ...] = ()
    """The Parquet files of a table in one place whose rows become those of the run."""


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
    relations = _open_locations(context, table, wanted)
    problems = [
        problem for relation in relations for problem in _check_relation(table, relax(wanted, relation), relation)
    ]
    if problems:
        raise JobError.of(problems)
    if table.role in _WORKED_ON:
        relations = [_list_files(relation) for relation in relations]
    if _is_numbered(context, table):
        relations = number_files(relations)
    if table.role != "input":
        # Rows that their own source has deleted take no part in joins, lookups and appends.
        wanted = tuple(column for column in wanted if column.name != DELETED)
    frames = [_shape_relation(context, table, wanted, relation) for relation in relations]
    frame = _unite(frames) if frames else _make_empty(context, wanted)
    if _is_numbered(context, table) and any(relation.position is None for relation in relations):
        frame = number_by_content(frame, [column.name for column in wanted])
    return LoadedTable(
        table,
        frame,
        wanted,
        is_small=all(relation.is_small for relation in relations),
        is_file_scan=all(relation.location.kind == "files" and not relation.is_text for relation in relations),
        kept=frozenset(name for relation in relations for name in relation.frame.columns) & SYSTEM_TYPES.keys(),
        files=relations[0].files if len(relations) == 1 else (),
    )


def _unite(frames: list[DataFrame]) -> DataFrame:
    """Return the rows of all frames in their order; in pairs, because Spark looks at all of a plan at each step."""
    while len(frames) > 1:
        pairs = [frames[index : index + 2] for index in range(0, len(frames), 2)]
        frames = [pair[0].unionByName(pair[1]) if len(pair) > 1 else pair[0] for pair in pairs]
    return frames[0]


def _is_numbered(context: SourceContext, table: Table) -> bool:
    return context.needs_positions and table.role in _WORKED_ON


def _list_files(relation: Relation) -> Relation:
    if relation.location.kind != "files" or relation.location.format != "parquet":
        return relation
    return replace(relation, files=tuple(relation.frame.inputFiles()))


def relax(wanted: tuple[Wanted, ...], relation: Relation) -> tuple[Wanted, ...]:
    """A slice that was registered before a column existed need not have it: its location names what it has."""
    location = relation.location
    if location.kind != "files" or not location.columns:
        return wanted
    return tuple(
        column if column.name in location.columns else replace(column, optional=True, nullable=True)
        for column in wanted
    )


def _open_locations(context: SourceContext, table: Table, wanted: tuple[Wanted, ...]) -> list[Relation]:
    opened, problems = [], []
    for ordinal, location in enumerate(table.locations):
        place = location.shown_uri or str(location.table)
        try:
            relation = _open_location(context, table, location, wanted, ordinal)
        except MissingDataError:
            if location.on_missing == "error":
                hint = "write the data first, or let the resolver's rule say `on_missing: empty`"
                problems.append(_describe_failure(table, "DATA_001", f"no data at {place}", hint))
        except UnreadableTypesError as error:
            failure = find_read_failure("NANOS")
            assert failure is not None
            for name in error.columns:
                what = f"column '{name}' at {place}: {failure.reason}"
                problems.append(_describe_failure(table, failure.code, what, failure.hint, name))
        except Exception as error:
            # Whatever Spark throws, as its own or as Java's.
            causes = list_causes(error)
            said = "\n".join(causes)
            failure = find_read_failure(said)
            if failure is not None:
                what = f"{failure.file or place} cannot be read: {failure.reason}"
                problems.append(_describe_failure(table, failure.code, what, failure.hint))
            elif (wrong := _find_fault_of_options(error, causes)) is not None:
                what = f"{place} cannot be read: {wrong}"
                hint = "see the location's format, and the options of its datasource"
                problems.append(_describe_failure(table, "DATA_001", what, hint))
            else:
                raise
        else:
            opened += [] if relation is None else [relation]
    if problems:
        raise JobError.of(problems)
    return opened


def _find_fault_of_options(error: Exception, causes: list[str]) -> str | None:
    if isinstance(error, AnalysisException | IllegalArgumentException) and not is_unreachable("\n".join(causes)):
        return shorten((str(error).splitlines() or [""])[0], 400)
    return find_wrong_option(causes)


def _describe_failure(
    table: Table, code: Code, what: str, hint: str | None = None, column: str | None = None
) -> MarkedProblem:
    if table.role == "append" and code == "DATA_001":
        code = "APPEND_008"
    return MarkedProblem(code, f"{name_table(table)}: {what}", hint, table.mark, column)


def _open_location(
    context: SourceContext, table: Table, location: Location, wanted: tuple[Wanted, ...], ordinal: int
) -> Relation | None:
    if location.kind == "memory":
        if not location.columns:
            return None
        return read_memory(context.spark, location, ordinal)
    credentials = context.credentials(location.credential_ref) if location.credential_ref else {}
    if location.kind == "jdbc":
        temporal = table.temporal
        # The database is asked for the days that a row is valid, so these stay dates.
        sought = {temporal.from_column, temporal.to_column} if temporal.mode == "bitemporal" else set()
        free = [column for column in wanted if column.name not in sought]
        return read_jdbc(context.spark, location, free, credentials, context.moments)
    return read_files(context.spark, location, wanted, credentials)


def _check_relation(table: Table, wanted: tuple[Wanted, ...], relation: Relation) -> list[MarkedProblem]:
    physical = {field.name: field.dataType for field in relation.frame.schema.fields}
    if relation.is_text:
        sentences = [
            f"column '{column.name}' is missing"
            for column in wanted
            if not column.optional and column.name not in physical
        ]
    else:
        sentences = find_mismatches([column for column in wanted if column.name not in relation.texts], physical)
    where = relation.location.shown_uri or relation.location.table or "the rows given"
    return [
        MarkedProblem("DATA_002", f"{name_table(table)} at {where}: {sentence}", _SCHEMA_HINT, table.mark, None)
        for sentence in sentences
    ]


def _shape_relation(context: SourceContext, table: Table, wanted: tuple[Wanted, ...], relation: Relation) -> DataFrame:
    physical = {field.name: field.dataType.simpleString() for field in relation.frame.schema.fields}

    def read(column: Wanted) -> str | None:
        if column.name not in physical:
            return None
        is_period = _is_period_column(table, column)
        reference = quote_name(column.name)
        if relation.location.kind == "jdbc" and column.type == "string" and not is_period:
            # Compared by Spark: the database would do it in the order of its collation.
            reference = f"concat({reference}, '')"
        value = build_column(
            column,
            reference,
            physical[column.name],
            mark=table.mark,
            is_text=relation.is_text or column.name in relation.texts,
            # A period is compared as it is, so that Spark can leave out the other ones while it reads.
            formats=replace(relation.formats, was_decoded=False) if is_period else relation.formats,
        )
        if relation.location.format == "json" and is_period:
            # In JSON a key that is absent and a NULL are one thing.
            return f"coalesce({value}, {_fill_missing(context, table, relation.location, column)})"
        return value

    frame = relation.frame
    predicate = build_period_filter(
        table, relation.location, run_period=context.run_period, as_of=context.as_of, read=read
    )
    if predicate is not None:
        frame = frame.where(predicate)
    if table.role != "input" and DELETED in physical:
        deleted = read(Wanted(DELETED, SYSTEM_TYPES[DELETED]))
        frame = frame.where(f"{deleted} IS NULL OR NOT {deleted}")
    columns = []
    for column in relax(wanted, relation):
        value = read(column)
        if value is None:
            value = _fill_missing(context, table, relation.location, column)
        columns.append(f"{value} AS {quote_name(column.name)}")
    position = relation.position or "CAST(NULL AS bigint)"
    return frame.selectExpr(*columns, f"{position} AS {quote_name(POSITION)}")


def _fill_missing(context: SourceContext, table: Table, location: Location, column: Wanted) -> str:
    """A period-mode table without a period column takes the period of its location."""
    if _is_period_column(table, column):
        period = (location.period or context.run_period).replace("\\", "\\\\").replace("'", "\\'")
        return f"'{period}'"
    return f"CAST(NULL AS {column.type})"


def _is_period_column(table: Table, column: Wanted) -> bool:
    return table.temporal.mode == "period" and column.name == table.temporal.period_column


def _make_empty(context: SourceContext, wanted: tuple[Wanted, ...]) -> DataFrame:
    columns = [f"CAST(NULL AS {column.type}) AS {quote_name(column.name)}" for column in wanted]
    return context.spark.range(0).selectExpr(*columns, f"id AS {quote_name(POSITION)}")

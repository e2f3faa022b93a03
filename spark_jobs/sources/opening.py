"""Opens the locations of a table, finds out whether they have its columns, and reports what is wrong with all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, IllegalArgumentException

from spark_jobs.contract.codes import Code
from spark_jobs.contract.tables import name_place, name_table
from spark_jobs.errors import JobError, MarkedProblem, shorten
from spark_jobs.sources.columns import Wanted, find_mismatches
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from spark_jobs.sources.files import read_files
from spark_jobs.sources.jdbc import read_jdbc
from spark_jobs.sources.memory import read_memory
from spark_jobs.sources.missing_columns import describe_missing
from spark_jobs.sources.raw_rows import (
    ColumnMismatchError,
    Credentials,
    MissingDataError,
    RawRows,
    TableFolderError,
)
from spark_jobs.sources.read_errors import find_read_failure, find_wrong_option, is_unreachable
from spark_jobs.sources.slices import ChangedSliceError, refuse_changed_slice
from spark_jobs.sources.tables import HiddenFilesError, MissingVersionError, ReplacedFilesError, read_table
from spark_jobs.spark.jvm import list_causes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.tables import Location, Table

SCHEMA_HINT = "declare in the dataset what the data have, or write what is declared"


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What reading depends on beside the table."""

    spark: SparkSession
    run_period: str
    as_of: date
    credentials: Credentials
    database_snapshots: DatabaseSnapshots
    needs_positions: bool = True
    """Whether row ids are needed."""
    needs_files: bool = False
    """Whether rows of the working dataset know which file they were read from."""


def open_locations(context: SourceContext, table: Table, wanted: tuple[Wanted, ...]) -> list[RawRows]:
    """Return the rows of each location that has data; all that is wrong with any of them is one error."""
    opened: list[RawRows] = []
    problems: list[MarkedProblem] = []
    for ordinal, location in enumerate(table.locations):
        try:
            rows = _open_location(context, table, location, wanted, ordinal)
        except JobError:
            raise
        except Exception as error:
            found = _explain_failure(table, location, error)
            if found is None:
                raise
            problems += found
        else:
            opened += [] if rows is None else [rows]
    if not problems:
        problems = [
            problem for rows in opened for problem in _check_columns(table, relax_older_slice(wanted, rows), rows)
        ]
    if problems:
        raise JobError.of(problems)
    return opened


def relax_older_slice(wanted: tuple[Wanted, ...], rows: RawRows) -> tuple[Wanted, ...]:
    """Let the columns be missing that an older slice of a registered dataset lacks: its location names what it has."""
    location = rows.location
    if location.kind != "files" or not location.columns:
        return wanted
    return tuple(
        column if column.name in location.columns else replace(column, optional=True, nullable=True)
        for column in wanted
    )


def _open_location(
    context: SourceContext, table: Table, location: Location, wanted: tuple[Wanted, ...], ordinal: int
) -> RawRows | None:
    if location.kind == "memory":
        if not location.columns:
            return None
        return read_memory(context.spark, location, ordinal)
    credentials = context.credentials(location.credential_ref) if location.credential_ref else {}
    temporal = table.temporal
    if location.kind == "jdbc":
        # The database is asked for the days that a row is valid, so these stay dates.
        sought = {temporal.from_column, temporal.to_column} if temporal.mode == "bitemporal" else set()
        free = [column for column in wanted if column.name not in sought]
        return read_jdbc(context.spark, location, free, credentials, context.database_snapshots)
    if location.kind == "table":
        return read_table(context.spark, location)
    periods = {temporal.period_column: location.period or context.run_period} if temporal.mode == "period" else {}
    rows = read_files(context.spark, location, wanted, credentials, periods)
    refuse_changed_slice(context.spark, rows)
    return rows


def _explain_failure(table: Table, location: Location, error: Exception) -> list[MarkedProblem] | None:
    """Return what is wrong with a location that could not be opened; None when it was something else."""
    place = location.shown_uri or str(location.table)
    if isinstance(error, MissingDataError):
        hint = "write the data first, or let the resolver's rule say `on_missing: empty`"
        missing = _make_problem(table, "DATA_001", f"no data at {name_place(table, location)}", hint)
        return [missing] if location.on_missing == "error" else []
    if isinstance(error, MissingVersionError):
        what = f"a file of version {location.version} of the table at {place} is gone: the version has expired"
        hint = "resolve again to read the current version; keep versions as long as their runs are to be repeated"
        return [_make_problem(table, "DATA_001", what, hint)]
    if isinstance(error, HiddenFilesError):
        what = f"Spark does not read {error} of the table at {place}: its name is that of a hidden or unfinished file"
        hint = "rewrite the table's files, with names that neither begin with '_' or '.' nor end in '._COPYING_'"
        return [_make_problem(table, "SOURCE_001", what, hint)]
    if isinstance(error, ReplacedFilesError):
        what = (
            f"files of version {location.version} of the table at {place} were replaced: "
            f"they have {error.size} bytes, and {error.stated} by the table's metadata"
        )
        return [_make_problem(table, "DATA_001", what, "restore the files; a table's files are never changed in place")]
    if isinstance(error, ChangedSliceError):
        what = f"the files of the registered slice {place} were replaced: {error}"
        return [
            _make_problem(table, "DATA_001", what, "restore them from a backup, or run the project that registers it")
        ]
    if isinstance(error, TableFolderError):
        what = f"{error.folder} is a table of {error.format.title()}: its files hold rows of older versions too"
        hint = f"read it through a datasource of `type: {error.format}`"
        return [_make_problem(table, "SOURCE_001", what, hint)]
    if isinstance(error, ColumnMismatchError):
        return [
            _make_problem(table, "DATA_002", f"column '{name}' at {place}: {reason}", error.hint, name)
            for name, reason in error.columns.items()
        ]
    # Whatever Spark throws, as its own or as Java's.
    causes = list_causes(error)
    failure = find_read_failure("\n".join(causes))
    if failure is not None:
        what = f"{failure.file or place} cannot be read: {failure.reason}"
        return [_make_problem(table, failure.code, what, failure.hint)]
    wrong = _find_wrong_option(error, causes)
    if wrong is None:
        return None
    hint = "see the location's format, and the options of its datasource"
    return [_make_problem(table, "DATA_001", f"{place} cannot be read: {wrong}", hint)]


def _find_wrong_option(error: Exception, causes: list[str]) -> str | None:
    if isinstance(error, AnalysisException | IllegalArgumentException) and not is_unreachable("\n".join(causes)):
        return shorten((str(error).splitlines() or [""])[0], 400)
    return find_wrong_option(causes)


def _make_problem(
    table: Table, code: Code, what: str, hint: str | None = None, column: str | None = None
) -> MarkedProblem:
    if table.role == "append" and code == "DATA_001":
        code = "APPEND_008"
    return MarkedProblem(code, f"{name_table(table)}: {what}", hint, table.mark, column)


def _check_columns(table: Table, wanted: tuple[Wanted, ...], rows: RawRows) -> list[MarkedProblem]:
    """Return what is wrong with a location's columns: one problem for all that are missing, one for each wrong type."""
    physical = {field.name: field.dataType for field in rows.frame.schema.fields}
    where = f"{name_table(table)} at {rows.location.shown_uri or rows.location.table or 'the rows given'}"
    missing = [column.name for column in wanted if not column.optional and column.name not in physical]
    problems = []
    if missing:
        said, hint = describe_missing(missing, rows)
        problems.append(MarkedProblem("DATA_002", f"{where}: {said}", hint or SCHEMA_HINT, table.mark, missing[0]))
    if not rows.is_text:
        typed = [column for column in wanted if column.name not in rows.texts]
        problems += [
            MarkedProblem("DATA_002", f"{where}: {said}", SCHEMA_HINT, table.mark, name)
            for name, said in find_mismatches(typed, physical).items()
        ]
    return problems

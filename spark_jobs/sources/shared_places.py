"""Places that hold the rows of several periods of one table: which rows are whose, and whether all have some."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from spark_jobs.contract.codes import Code
from spark_jobs.contract.sql import quote_text
from spark_jobs.contract.tables import name_table
from spark_jobs.errors import JobError, MarkedProblem
from spark_jobs.sources.columns import Wanted

if TYPE_CHECKING:
    from spark_jobs.contract.tables import Location, Table
    from spark_jobs.sources.raw_rows import RawRows

ReadColumn = Callable[["RawRows", Wanted], "str | None"]
"""Returns SQL of a column as the type wanted; None when the rows have no such column."""
MOST_SHOWN = 12


def check_shared_places(table: Table, opened: Iterable[RawRows], read: ReadColumn) -> None:
    """Raise DATA_002 where rows would be read twice or nothing says whose period they are, DATA_001 where some lack."""
    shared: dict[str, list[RawRows]] = defaultdict(list)
    for rows in opened:
        if rows.location.kind != "memory":
            shared[_name_place(rows.location)].append(rows)
    problems = list(_find_repeated(table, [found[0] for found in shared.values()], read))
    if table.temporal.mode == "period":
        several = (found for found in shared.values() if len(found) > 1)
        problems += [problem for found in several for problem in _check(table, found, read)]
    if problems:
        raise JobError.of(problems)


def _find_repeated(table: Table, opened: Iterable[RawRows], read: ReadColumn) -> Iterator[MarkedProblem]:
    """Yield the first file of each place that another place has too, for the same period or for an unknown one."""
    seen: dict[str, RawRows] = {}
    for rows in opened:
        for file in rows.files:
            other = seen.setdefault(file, rows)
            if other is rows or _are_apart(table, rows, other, read):
                continue
            places = " and ".join(found.location.shown_uri for found in (other, rows))
            hint = "see what the resolver answers: each file belongs to one place"
            yield MarkedProblem("DATA_002", f"{name_table(table)}: {file} is in {places}", hint, table.mark)
            break


def _are_apart(table: Table, rows: RawRows, other: RawRows, read: ReadColumn) -> bool:
    """Return whether two places give different rows of a file: those of different periods."""
    if table.temporal.mode != "period" or rows.location.period == other.location.period:
        return False
    return read(rows, Wanted(table.temporal.period_column, "string", optional=True)) is not None


def _name_place(location: Location) -> str:
    return f"{location.uri}\n{location.table}\n{location.version}\n{','.join(location.files)}"


def _check(table: Table, found: list[RawRows], read: ReadColumn) -> list[MarkedProblem]:
    first, column = found[0], table.temporal.period_column
    place = first.location.shown_uri or first.location.table
    period = read(first, Wanted(column, "string", optional=True))
    periods = list(dict.fromkeys(rows.location.period or "" for rows in found))
    if period is None and len(periods) > 1:
        said = f"{place} is read for {_list(periods)} and has no column '{column}' that says which rows are whose"
        hint = "let the path differ by period, such as {{YYYY}}-{{MM}}, or add the column"
        return [MarkedProblem("DATA_002", f"{name_table(table)}: {said}", hint, table.mark, column)]
    required = [rows.location.period or "" for rows in found if rows.location.needs_rows]
    if period is None or not required:
        return []
    # Only what is missing comes back.
    spark = first.frame.sparkSession
    asked = spark.sql(f"SELECT explode(array({', '.join(map(quote_text, required))})) AS `@period`")
    held = first.frame.selectExpr(f"{period} AS `@held`").distinct()
    missing = [row[0] for row in asked.join(held, asked["@period"] == held["@held"], "left_anti").collect()]
    if not missing:
        return []
    said = f"no rows of {_list(sorted(missing))} at {place}"
    hint = "`requires_all_periods` asks for rows of each period: write them first"
    code: Code = "APPEND_008" if table.role == "append" else "DATA_001"
    return [MarkedProblem(code, f"{name_table(table)}: {said}", hint, table.mark)]


def _list(periods: list[str]) -> str:
    rest = len(periods) - MOST_SHOWN
    return ", ".join(periods[:MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")

"""Which rows of a table a run sees: one predicate, written so that it reaches the files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from spark_jobs.contract.sql import quote_text
from spark_jobs.contract.tables import Location, Table
from spark_jobs.sources.columns import Wanted


def build_period_filter(
    table: Table, location: Location, *, run_period: str, as_of: date, read: Callable[[Wanted], str | None]
) -> str | None:
    """Return the predicate over a location's rows, or None when all of them belong to the run.

    `read` gives the SQL of a column as the type wanted, None when the location has no such column.
    """
    temporal = table.temporal
    if temporal.mode == "period":
        value = read(Wanted(temporal.period_column, "string", optional=True))
        return None if value is None else f"{value} = {quote_text(location.period or run_period)}"
    if temporal.mode == "bitemporal":
        begin = read(Wanted(temporal.from_column, "date"))
        end = read(Wanted(temporal.to_column, "date"))
        day = f"DATE'{as_of.isoformat()}'"
        return f"{begin} <= {day} AND ({end} IS NULL OR {end} > {day})"
    return None

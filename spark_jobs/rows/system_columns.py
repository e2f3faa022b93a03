"""The columns that the engine adds: on loaded rows and on rows that operations make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC
from typing import TYPE_CHECKING

from spark_jobs.contract.sql import quote_name, quote_text
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.rows.row_ids import POSITION, build_row_id, make_prefix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.contract.tables import Column, Table
    from spark_jobs.sources import LoadedTable

_POSITION = f"`@w`.{quote_name(POSITION)}"
CHANGING = ("_deleted", "_updated_at", "_labels")
"""What operations change of a row beside the columns that they assign."""


def format_timestamp(snapshot: Snapshot) -> str:
    """Return the run's timestamp as a SQL literal."""
    moment = snapshot.run_timestamp.astimezone(UTC)
    return f"TIMESTAMP'{moment.strftime('%Y-%m-%d %H:%M:%S.%f')}Z'"


def complete_loaded_rows(loaded: LoadedTable, snapshot: Snapshot, columns: Collection[Column]) -> dict[str, str]:
    """Return the SQL of each of the working dataset's columns over a loaded input table."""
    made = build_row_id(make_prefix(snapshot.run_timestamp, 0), _POSITION, snapshot.plan.period_bits)
    table = loaded.table
    temporal = table.temporal
    values = {
        "_row_id": _keep(loaded, "_row_id", made),
        "_source_dataset": quote_text(table.dataset_id),
        "_operation_seq": "0L",
        "_created_by_run": _keep(loaded, "_created_by_run", quote_text(snapshot.run_id)),
        "_created_at": _keep(loaded, "_created_at", format_timestamp(snapshot)),
        "_updated_at": _keep(loaded, "_updated_at", None),
        "_deleted": _keep(loaded, "_deleted", "FALSE"),
        "_labels": _keep(loaded, "_labels", "''"),
        "_period": _find_only_period(table, snapshot.period.identifier)
        or f"CAST(`@w`.{quote_name(temporal.period_column)} AS string)",
        "_period_from": f"CAST(`@w`.{quote_name(temporal.from_column)} AS date)",
        "_period_to": f"CAST(`@w`.{quote_name(temporal.to_column)} AS date)",
    }
    return {column.name: values.get(column.name, f"`@w`.{quote_name(column.name)}") for column in columns}


def pick_unchanging(values: Mapping[str, str]) -> dict[str, str]:
    """Return those columns of loaded rows that no operation changes and that a row's position is enough to make."""
    return {
        name: value
        for name, value in values.items()
        if name in SYSTEM_TYPES and name not in CHANGING and "`@w`." not in value.replace(_POSITION, "")
    }


def _find_only_period(table: Table, run_period: str) -> str | None:
    """Return the period that all rows have: what is read from a location is filtered by the location's period."""
    periods = {location.period or run_period for location in table.locations}
    if table.temporal.mode != "period":
        return quote_text(run_period)
    return quote_text(periods.pop()) if len(periods) == 1 else None


def _keep(loaded: LoadedTable, name: str, otherwise: str | None) -> str:
    if name not in loaded.kept:
        return otherwise or f"CAST(NULL AS {SYSTEM_TYPES[name]})"
    kept = f"`@w`.{quote_name(name)}"
    return kept if otherwise is None else f"coalesce({kept}, {otherwise})"


def complete_new_rows(
    frame: DataFrame,
    snapshot: Snapshot,
    columns: Collection[Column],
    *,
    seq: int,
    ordinal: int,
    source_dataset: str,
    filled: Collection[str] = (),
) -> list[str]:
    """Return the SQL of the working dataset's columns over rows that an operation made, with their positions.

    `filled` are the columns that the rows bring along, such as the period that they are grouped by.
    """
    period = snapshot.period
    values = {
        "_row_id": build_row_id(make_prefix(snapshot.run_timestamp, ordinal), _POSITION, snapshot.plan.period_bits),
        "_source_dataset": quote_text(source_dataset),
        "_operation_seq": f"{seq}L",
        "_created_by_run": quote_text(snapshot.run_id),
        "_created_at": format_timestamp(snapshot),
        "_updated_at": "CAST(NULL AS timestamp)",
        "_deleted": "FALSE",
        "_labels": "''",
        "_period": quote_text(period.identifier),
        "_period_from": f"DATE'{period.start_date.isoformat()}'",
        "_period_to": "CAST(NULL AS date)",
    }
    present = set(frame.columns)
    for name in ("_period", "_period_from", "_period_to", "_labels"):
        if name in filled:
            values[name] = f"`@w`.{quote_name(name)}"
    return name_values(
        {
            column.name: values.get(column.name)
            or (f"`@w`.{quote_name(column.name)}" if column.name in present else f"CAST(NULL AS {column.type})")
            for column in columns
        }
    )


def name_values(values: Mapping[str, str]) -> list[str]:
    """Return the SQL of columns with their names."""
    return [f"{value} AS {quote_name(name)}" for name, value in values.items()]

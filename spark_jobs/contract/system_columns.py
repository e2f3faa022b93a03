"""The columns that the engine adds to every working dataset, with their types as Spark spells them."""

from __future__ import annotations

from spark_jobs.contract.tables import Column

_ALWAYS = (
    Column("_row_id", "string", nullable=False),
    Column("_source_dataset", "string", nullable=False),
    Column("_operation_seq", "bigint", nullable=False),
    Column("_created_by_run", "string"),
    Column("_created_at", "timestamp"),
    Column("_updated_at", "timestamp"),
    Column("_deleted", "boolean", nullable=False),
    Column("_labels", "string"),
)
PERIOD_COLUMN = "_period"
_PERIOD = (Column(PERIOD_COLUMN, "string"),)
_BITEMPORAL = (Column("_period_from", "date"), Column("_period_to", "date"))

SYSTEM_TYPES = {column.name: column.type for column in (*_ALWAYS, *_PERIOD, *_BITEMPORAL)}
ASSIGNABLE_SYSTEM_COLUMNS = frozenset({"_labels"})


def list_system_columns(temporal_mode: str) -> tuple[Column, ...]:
    """Return the system columns of a working dataset whose input has this temporal mode."""
    return (*_ALWAYS, *(_BITEMPORAL if temporal_mode == "bitemporal" else _PERIOD))

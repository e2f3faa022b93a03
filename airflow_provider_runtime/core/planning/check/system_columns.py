"""The columns that the engine adds to every working dataset."""

from __future__ import annotations

from airflow_provider_runtime.core.model.dataset import TemporalMode
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, TIMESTAMP, DataType
from airflow_provider_runtime.core.planning.check.checked import WorkingColumn

ASSIGNABLE_SYSTEM_COLUMNS = frozenset({"_labels"})

_ALWAYS: tuple[tuple[str, DataType, bool], ...] = (
    ("_row_id", STRING, False),
    ("_source_dataset", STRING, False),
    ("_operation_seq", INTEGER, False),
    ("_created_by_run", STRING, True),
    ("_created_at", TIMESTAMP, True),
    ("_updated_at", TIMESTAMP, True),
    ("_deleted", BOOLEAN, False),
    ("_labels", STRING, True),
)
_PERIOD: tuple[tuple[str, DataType, bool], ...] = (("_period", STRING, True),)
_BITEMPORAL: tuple[tuple[str, DataType, bool], ...] = (("_period_from", DATE, True), ("_period_to", DATE, True))

SYSTEM_COLUMN_NAMES = frozenset(name for name, _, _ in (*_ALWAYS, *_PERIOD, *_BITEMPORAL))


def list_system_columns(mode: TemporalMode) -> tuple[WorkingColumn, ...]:
    """Return the system columns of a working dataset whose input has this temporal mode."""
    temporal = _BITEMPORAL if mode == "bitemporal" else _PERIOD
    return tuple(WorkingColumn(name, type_, nullable, "system") for name, type_, nullable in (*_ALWAYS, *temporal))

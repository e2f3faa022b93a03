"""The columns that the engine adds, as the check sees them."""

from __future__ import annotations

from airflow_provider_runtime.core.model.dataset import TemporalMode
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_TYPES
from airflow_provider_runtime.core.planning.check.checked import WorkingColumn
from spark_jobs.contract import system_columns


def list_system_columns(mode: TemporalMode) -> tuple[WorkingColumn, ...]:
    """Return the system columns of a working dataset whose input has this temporal mode."""
    return tuple(
        WorkingColumn(column.name, SYSTEM_COLUMN_TYPES[column.name], column.nullable, "system")
        for column in system_columns.list_system_columns(mode)
    )

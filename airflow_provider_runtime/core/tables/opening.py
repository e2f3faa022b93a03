"""The way to a table of either format, which says how to install what is missing."""

from __future__ import annotations

from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.tables.ports import TableAddress, VersionedTable


def open_table(address: TableAddress) -> VersionedTable:
    """Return the table at an address, which need not exist yet."""
    try:
        if address.format == "iceberg":
            from airflow_provider_runtime.core.tables.iceberg.table import IcebergTable

            return IcebergTable(address)
        from airflow_provider_runtime.core.tables.delta.table import DeltaLakeTable

        return DeltaLakeTable(address)
    except ModuleNotFoundError as error:
        message = f"table {address.display} needs the Python package {error.name}, which is not installed"
        hint = f"pip install 'airflow-provider-runtime[{address.format}]'"
        raise DefinitionError(Problem("CATALOG_004", message, hint)) from error

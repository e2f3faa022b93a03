"""Iceberg and Delta tables: a version is pinned as a list of Parquet files, an output is committed in one step.

The only room that imports pyiceberg and deltalake, and only when a table is opened: both are extras of the package.
"""

from airflow_provider_runtime.core.tables.committing import CommitRequest, Committed
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.opening import open_table
from airflow_provider_runtime.core.tables.ports import (
    FileGroup,
    PinnedTable,
    RowFilter,
    TableAddress,
    TableColumn,
    TableFile,
    TableState,
    VersionedTable,
)

__all__ = [
    "CommitNote",
    "CommitRequest",
    "Committed",
    "FileGroup",
    "PinnedTable",
    "RowFilter",
    "TableAddress",
    "TableColumn",
    "TableFile",
    "TableState",
    "VersionedTable",
    "open_table",
]

"""One snapshot that replaces rows of an Iceberg table by files that a run has written."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import NestedField

from airflow_provider_runtime.core.tables.columns import find_added
from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN, CommitRequest
from airflow_provider_runtime.core.tables.footers import get_period, read_footer
from airflow_provider_runtime.core.tables.iceberg.history import PeriodFiles, has_period, make_period_filter
from airflow_provider_runtime.core.tables.iceberg.types import list_columns, to_iceberg
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.ports import TableAddress, TableColumn

NEWEST_WRITABLE_FORMAT = 2
_READERS = 16


def make_schema(columns: Iterable[TableColumn]) -> Schema:
    """Return the schema of a new table."""
    fields = [
        NestedField(number, column.name, to_iceberg(column.type), required=False)
        for number, column in enumerate(columns, start=1)
    ]
    return Schema(*fields)


def begin_creation(catalog: Catalog, address: TableAddress, request: CommitRequest, location: str) -> Transaction:
    """Return the transaction that makes a table, partitioned by period when it is replaced by period."""
    catalog.create_namespace_if_not_exists(Catalog.namespace_from(address.name))
    schema = make_schema(request.columns)
    spec = UNPARTITIONED_PARTITION_SPEC
    if not request.note.replaces_all:
        source = schema.find_field(PERIOD_COLUMN).field_id
        spec = PartitionSpec(PartitionField(source, 1000, IdentityTransform(), PERIOD_COLUMN))
    return catalog.create_table_transaction(
        address.name, schema, location=location, partition_spec=spec, properties={"format-version": "2"}
    )


def begin_change(table: Table, address: TableAddress, request: CommitRequest) -> Transaction:
    """Return the transaction that changes a table, with new columns added to it."""
    added = check_columns(table, address, request.columns, by_period=not request.note.replaces_all)
    # The library would try again by itself, without comparing tokens.
    properties = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    table.metadata = table.metadata.model_copy(update={"properties": properties})
    transaction = table.transaction()
    if added:
        with transaction.update_schema() as update:
            for column in added:
                update.add_column(column.name, to_iceberg(column.type))
    return transaction


def check_columns(
    table: Table, address: TableAddress, columns: tuple[TableColumn, ...], *, by_period: bool
) -> list[TableColumn]:
    """Return the columns that the table has not yet; OUTPUT_002 for those that do not fit."""
    if table.metadata.format_version > NEWEST_WRITABLE_FORMAT:
        message = f"it has format version {table.metadata.format_version}, which pyiceberg cannot write"
        raise address.make_error("OUTPUT_002", message, "use a table of format version 2")
    added = find_added(address, list_columns(table.schema()), columns)
    _refuse_partitions(table, address)
    if by_period and not has_period(table.schema()):
        message = f"it has no text column {PERIOD_COLUMN}, so that no period of it can be replaced"
        raise address.make_error("OUTPUT_002", message, "add the column, or use write_mode overwrite")
    return added


def _refuse_partitions(table: Table, address: TableAddress) -> None:
    """Refuse partitions whose value is not the same for all rows of a period."""
    schema = table.schema()
    parts = [(schema.find_column_name(part.source_id), part.transform) for part in table.spec().fields]
    faults = [
        f"{transform}({name})" for name, transform in parts if name != PERIOD_COLUMN or not transform.preserves_order
    ]
    if faults:
        message = f"it is partitioned by {', '.join(faults)}"
        hint = f"use a table that is partitioned by {PERIOD_COLUMN}, or not at all"
        raise address.make_error("OUTPUT_002", message, hint)


def replace_rows(
    transaction: Transaction, table: Table, address: TableAddress, request: CommitRequest, folder: str
) -> None:
    """Put one snapshot into a transaction: old files of the periods out, the attempt's files in."""
    metadata = transaction.table_metadata
    if metadata.name_mapping() is None:
        mapping = metadata.schema().name_mapping.model_dump_json()
        transaction.set_properties(**{TableProperties.DEFAULT_NAME_MAPPING: mapping})
    removed = list_removed(table, address, request.note.periods)
    uris = [f"{folder}/{name}" for name in request.files]
    with ThreadPoolExecutor(_READERS) as pool:
        described = pool.map(lambda uri: _describe(table.io, transaction, address, request.note, uri), uris)
        added = [file for file in described if file is not None]
    with transaction.update_snapshot(snapshot_properties=request.note.to_properties()).overwrite() as snapshot:
        for old in removed:
            snapshot.delete_data_file(old)
        for new in added:
            snapshot.append_data_file(new)


def list_removed(table: Table, address: TableAddress, periods: tuple[str, ...]) -> list[DataFile]:
    """Return the files whose rows are replaced; a file that also holds rows of other periods cannot be."""
    if table.current_snapshot() is None:
        return []
    files = PeriodFiles(table.schema(), table.specs(), periods)
    condition = make_period_filter(table.schema(), periods)
    found = [task.file for task in table.scan(row_filter=condition).plan_files()]
    mixed = [file for file in found if not files.holds_only(file, file.spec_id)]
    if mixed:
        message = f"{len(mixed)} of its files hold rows of other periods too, such as {mixed[0].file_path}"
        hint = f"partition the table by {PERIOD_COLUMN} and rewrite its data files"
        raise address.make_error("OUTPUT_002", message, hint)
    return found


def _describe(
    io: FileIO, transaction: Transaction, address: TableAddress, note: CommitNote, uri: str
) -> DataFile | None:
    """Return a file with its statistics; None for one without rows."""
    with io.new_input(uri).open() as stream:
        footer = read_footer(stream)
    if not footer.rows:
        return None
    if note.periods:
        get_period(address, note, uri, footer)
    try:
        return parquet_file_to_data_file(io, transaction.table_metadata, uri)
    except ValueError as error:
        message = f"the file {uri} does not fit into it: {error}"
        hint = f"partition the table by {PERIOD_COLUMN}, or not at all"
        raise address.make_error("OUTPUT_002", message, hint) from error

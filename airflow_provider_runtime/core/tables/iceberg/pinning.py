"""A snapshot of an Iceberg table as the Parquet files that hold its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    IsNull,
    LessThanOrEqual,
    Or,
)
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, StringType

from airflow_provider_runtime.core.tables.iceberg.types import list_columns
from airflow_provider_runtime.core.tables.ports import FileGroup, PinnedTable, RowFilter, TableAddress, TableFile

_READERS = 16
_REWRITE_HINT = (
    "rewrite its data files (CALL catalog.system.rewrite_data_files with delete-file-threshold 1), then resolve"
)
_FIELD_ID = b"PARQUET:field_id"


def pin(table: Table, address: TableAddress, version: str | None, rows: RowFilter | None) -> PinnedTable:
    """Return the files of a snapshot, by default the current one."""
    snapshot = table.current_snapshot() if version is None else _find_snapshot(table, version)
    if snapshot is None and version is not None:
        message = f"version {version} has expired: the table no longer knows it"
        hint = "resolve again to read the current version, and keep versions as long as their runs are to be repeated"
        raise address.make_error("DATA_001", message, hint)
    is_current = version is None or snapshot == table.current_snapshot()
    schema = table.schema() if is_current or snapshot is None else _get_schema(table, snapshot.schema_id)
    _refuse_defaults(schema, address)
    if snapshot is None:
        return PinnedTable(None, list_columns(schema), ())
    tasks = _plan_files(table, address, snapshot.snapshot_id, schema, rows)
    groups = _group(table, schema, [task.file for task in tasks])
    return PinnedTable(str(snapshot.snapshot_id), list_columns(schema), groups)


def make_filter(schema: Schema, rows: RowFilter | None) -> BooleanExpression:
    """Return what leaves files out; a column of another type than expected leaves out none."""
    kept: BooleanExpression = AlwaysTrue()
    if rows is None:
        return kept
    types = {field.name: field.field_type for field in schema.fields}
    if rows.period is not None and isinstance(types.get(rows.period_column or ""), StringType):
        kept = And(kept, EqualTo(str(rows.period_column), rows.period))
    if isinstance(rows.as_of, date):
        day = rows.as_of.isoformat()
        if isinstance(types.get(rows.from_column or ""), DateType):
            kept = And(kept, LessThanOrEqual(str(rows.from_column), day))
        if isinstance(types.get(rows.to_column or ""), DateType):
            kept = And(kept, Or(IsNull(str(rows.to_column)), GreaterThan(str(rows.to_column), day)))
    return kept


def _find_snapshot(table: Table, version: str) -> Any:
    return table.snapshot_by_id(int(version)) if version.isdigit() else None


def _get_schema(table: Table, schema_id: int | None) -> Schema:
    return table.schema() if schema_id is None else table.schemas()[schema_id]


def _refuse_defaults(schema: Schema, address: TableAddress) -> None:
    """Refuse columns whose value for older files is in the schema."""
    names = [field.name for field in schema.fields if getattr(field, "initial_default", None) is not None]
    if names:
        message = f"columns have default values for older files: {', '.join(names[:8])}"
        raise address.make_error("SOURCE_001", message, _REWRITE_HINT)


def _plan_files(
    table: Table, address: TableAddress, snapshot_id: int, schema: Schema, rows: RowFilter | None
) -> list[FileScanTask]:
    try:
        found = table.scan(row_filter=make_filter(schema, rows), snapshot_id=snapshot_id).plan_files()
        tasks = list(found)
    except ValueError as error:
        # pyiceberg has no dedicated exception for equality deletes.
        if "equality deletes" not in str(error):
            raise
        raise address.make_error("SOURCE_001", "it has equality delete files", _REWRITE_HINT) from error
    if any(task.delete_files for task in tasks):
        raise address.make_error("SOURCE_001", "it has delete files or deletion vectors", _REWRITE_HINT)
    formats = sorted({task.file.file_format.value for task in tasks if task.file.file_format != FileFormat.PARQUET})
    if formats:
        message = f"it has data files of format {', '.join(formats)}, only Parquet is read"
        raise address.make_error(
            "SOURCE_001", message, "set write.format.default to parquet and rewrite its data files"
        )
    if any(task.file.key_metadata for task in tasks):
        raise address.make_error("SOURCE_001", "its data files are encrypted", "decrypt them")
    return tasks


def _group(table: Table, schema: Schema, files: list[DataFile]) -> tuple[FileGroup, ...]:
    """Group files by how they are read; their footers are read only where names are not enough."""
    if not (_has_renamed(table, schema) or _may_lack_partition_columns(table, files)):
        listed = tuple(map(_describe, files))
        return (FileGroup(listed),) if listed else ()
    grouped: dict[tuple[Any, ...], list[TableFile]] = defaultdict(list)
    with ThreadPoolExecutor(_READERS) as pool:
        read = pool.map(lambda file: _read_columns(table.io, file.file_path), files)
        for file, (ids, names) in zip(files, read, strict=True):
            mapping = _map_columns(table, schema, ids, names)
            constants = _list_constants(table, schema, file, mapping)
            key = (tuple(mapping.items()), tuple(constants.items()))
            grouped[key].append(_describe(file))
    return tuple(FileGroup(tuple(listed), dict(names), dict(values)) for (names, values), listed in grouped.items())


def _describe(file: DataFile) -> TableFile:
    return TableFile(file.file_path, file.file_size_in_bytes, file.record_count)


def _has_renamed(table: Table, schema: Schema) -> bool:
    """Return whether a column had another name, or its name was another column's, in any schema or name mapping."""
    ids_of: dict[str, set[int]] = defaultdict(set)
    names_of: dict[int, set[str]] = defaultdict(set)
    for known in table.schemas().values():
        for field in known.fields:
            ids_of[field.name].add(field.field_id)
            names_of[field.field_id].add(field.name)
    for field_id, names in _read_name_mapping(table).items():
        names_of[field_id].update(names)
        for name in names:
            ids_of[name].add(field_id)
    return any(len(ids_of[field.name]) > 1 or len(names_of[field.field_id]) > 1 for field in schema.fields)


def _may_lack_partition_columns(table: Table, files: Iterable[DataFile]) -> bool:
    """Return whether a file may lack columns whose value is in the manifest, as files of Hive's do."""
    identities = {
        number: {field.source_id for field in spec.fields if isinstance(field.transform, IdentityTransform)}
        for number, spec in table.specs().items()
    }
    if table.name_mapping() is not None:
        return any(identities.values())
    return any(not identities[file.spec_id] <= set(file.value_counts or ()) for file in files)


def _read_name_mapping(table: Table) -> dict[int, list[str]]:
    mapping = table.name_mapping()
    fields = mapping.root if mapping is not None else []
    return {field.field_id: list(field.names) for field in fields if field.field_id is not None}


def _read_columns(io: FileIO, uri: str) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return a file's columns by field id, and all their names."""
    with io.new_input(uri).open() as stream:
        schema = pq.read_schema(stream)
    ids = {
        int(field.metadata[_FIELD_ID]): field.name for field in schema if field.metadata and _FIELD_ID in field.metadata
    }
    return ids, tuple(schema.names)


def _map_columns(table: Table, schema: Schema, ids: Mapping[int, str], names: Iterable[str]) -> dict[str, str | None]:
    """Return the columns whose name in a file is another one, or which are not in it."""
    if not ids:
        known = _read_name_mapping(table)
        ids = {field_id: name for field_id, aliases in known.items() for name in names if name in aliases}
    found = {field.name: ids.get(field.field_id) for field in schema.fields}
    return {name: physical for name, physical in found.items() if physical != name}


def _list_constants(
    table: Table, schema: Schema, file: DataFile, mapping: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Return the values of partition columns that are not in a file."""
    constants: dict[str, str | None] = {}
    for position, field in enumerate(table.specs()[file.spec_id].fields):
        column = schema.find_field(field.source_id) if field.source_id in schema.field_ids else None
        if column is None or not isinstance(field.transform, IdentityTransform):
            continue
        if mapping.get(column.name, column.name) is None:
            value = file.partition[position]
            shown = field.transform.to_human_string(column.field_type, value) if value is not None else None
            constants[column.name] = shown
    return constants

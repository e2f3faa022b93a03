"""One version that replaces rows of a Delta table by files that a run has written."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any
from urllib.parse import quote

from deltalake import DeltaTable, Schema
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    Transaction,
    create_table_with_add_actions,
)
from pyarrow import fs

from airflow_provider_runtime.core.tables.columns import find_added
from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN, CommitRequest
from airflow_provider_runtime.core.tables.delta.history import make_application_id
from airflow_provider_runtime.core.tables.delta.pinning import refuse_unreadable
from airflow_provider_runtime.core.tables.delta.types import list_columns, make_fields
from airflow_provider_runtime.core.tables.footers import ColumnRange, Footer, get_period, read_footer
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.ports import TableAddress, TableColumn

WRITABLE_FEATURES = frozenset(
    {"appendOnly", "invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "domainMetadata", "clustering"}
    | {"checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns", "columnMapping", "deletionVectors"}
)
"""Those of which a table's settings and columns tell whether they are really used are among them."""
_READERS = 16
_STATS_TEXT = 32
_SPECIAL_COLUMNS = ("delta.generationExpression", "delta.identity.start", "delta.invariants")


def create_table(address: TableAddress, request: CommitRequest, files: fs.FileSystem) -> None:
    """Make the table with its first rows, partitioned by period when it is replaced by period."""
    partitions = _choose_partitions(request.note)
    create_table_with_add_actions(
        address.name.removeprefix("file://"),
        Schema(make_fields(request.columns)),
        _make_actions(address, request, files, partitions, [column.name for column in request.columns]),
        mode="error",
        partition_by=partitions,
        storage_options=dict(address.properties) or None,
        commit_properties=_make_properties(request.note),
        post_commithook_properties=_HOOKS,
    )


def replace_rows(table: DeltaTable, address: TableAddress, request: CommitRequest, files: fs.FileSystem) -> None:
    """Commit one version: old files of the periods out, the attempt's files in, new columns added."""
    schema = merge_schema(table, address, request.columns, by_period=not request.note.replaces_all)
    partitions = table.metadata().partition_columns
    periods = list(request.note.periods)
    table.create_write_transaction(
        _make_actions(address, request, files, partitions, [field.name for field in schema.fields]),
        "overwrite",
        schema,
        partition_by=partitions,
        partition_filters=[(PERIOD_COLUMN, "in", periods)] if periods else None,
        commit_properties=_make_properties(request.note),
        post_commithook_properties=_HOOKS,
    )


def merge_schema(
    table: DeltaTable, address: TableAddress, columns: tuple[TableColumn, ...], *, by_period: bool
) -> Schema:
    """Return the table's schema with the new columns; OUTPUT_002 for what the table has against the output."""
    _refuse_unwritable(table, address)
    schema = table.schema()
    added = find_added(address, list_columns(schema), columns)
    partitions = table.metadata().partition_columns
    if partitions not in ([PERIOD_COLUMN], []) or (by_period and not partitions):
        message = f"it is partitioned by {', '.join(partitions)}" if partitions else "it is not partitioned"
        if by_period:
            message += ", so that no period of it can be replaced in one commit"
        raise address.make_error("OUTPUT_002", message, f"use a table that is partitioned by {PERIOD_COLUMN}")
    return Schema([*schema.fields, *make_fields(added)])


def _refuse_unwritable(table: DeltaTable, address: TableAddress) -> None:
    """Refuse what asks of a writer more than files: constraints, generated columns, change data and the like."""
    refuse_unreadable(table, address)
    settings = table.metadata().configuration
    faults = sorted(set(table.protocol().writer_features or ()) - WRITABLE_FEATURES)
    faults += [name for name in settings if name.startswith("delta.constraints.")]
    switches = (
        "delta.appendOnly",
        "delta.enableChangeDataFeed",
        "delta.enableDeletionVectors",
        "delta.enableRowTracking",
    )
    faults += [name for name in switches if (settings.get(name) or "false").lower() == "true"]
    for field in table.schema().fields:
        faults += [f"{name} of {field.name}" for name in _SPECIAL_COLUMNS if name in (field.metadata or {})]
    if faults:
        hint = "drop them, or use another table"
        raise address.make_error("OUTPUT_002", f"it uses {', '.join(faults[:8])}, which is not written", hint)


def _choose_partitions(note: CommitNote) -> list[str]:
    return [] if note.replaces_all else [PERIOD_COLUMN]


_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


def _make_properties(note: CommitNote) -> CommitProperties:
    """Return what goes with the commit; the library would try again by itself, without comparing tokens."""
    return CommitProperties(
        custom_metadata={**note.to_properties(), "isBlindAppend": False},
        max_commit_retries=0,
        app_transactions=[Transaction(make_application_id(note), note.token)],
    )


def _make_actions(
    address: TableAddress, request: CommitRequest, files: fs.FileSystem, partitions: list[str], columns: list[str]
) -> list[AddAction]:
    paths = [f"{request.note.folder}/{name}" for name in request.files]
    with ThreadPoolExecutor(_READERS) as pool:
        described = pool.map(lambda path: _make_action(address, request.note, files, path, partitions, columns), paths)
        return [action for action in described if action is not None]


def _make_action(
    address: TableAddress,
    note: CommitNote,
    files: fs.FileSystem,
    path: str,
    partitions: list[str],
    columns: list[str],
) -> AddAction | None:
    """Return a file with its statistics; None for one without rows."""
    with files.open_input_file(path) as stream:
        size, footer = stream.size(), read_footer(stream)
    if not footer.rows:
        return None
    values: dict[str, str | None] = {}
    if partitions or note.periods:
        values = dict.fromkeys(partitions, get_period(address, note, path, footer))
    millis = int(time.time() * 1000)
    return AddAction(quote(path, safe="/="), size, values, millis, True, _spell_statistics(footer, partitions, columns))


def _spell_statistics(footer: Footer, partitions: list[str], columns: list[str]) -> str:
    """Return statistics as Delta's log has them: bounds of all columns that have values, or of none.

    Readers take a bound that is missing beside those of other columns for NULL, and leave the file out. There is none
    where JSON does not hold it exactly.
    """
    # A column that the table has and the file lacks is NULL in all rows.
    lacking = ColumnRange(nulls=footer.rows)
    found_in = {name: footer.columns.get(name, lacking) for name in columns if name not in partitions}
    document: dict[str, Any] = {"numRecords": footer.rows}
    if all(found.is_known for found in found_in.values()):
        document["nullCount"] = {name: found.nulls for name, found in found_in.items()}
        bounded = {name: found for name, found in found_in.items() if found.least is not None}
        if all(_is_exact(found.least) and _is_exact(found.most) for found in bounded.values()):
            document["minValues"] = {name: _spell(found.least) for name, found in bounded.items()}
            document["maxValues"] = {name: _spell(found.most) for name, found in bounded.items()}
    return json.dumps(document)


def _is_exact(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _STATS_TEXT
    return type(value) in (int, date)


def _spell(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value

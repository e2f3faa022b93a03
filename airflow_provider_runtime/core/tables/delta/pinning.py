"""A version of a Delta table as the Parquet files that hold its rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow
import pyarrow.parquet as pq
from deltalake import DeltaTable

from airflow_provider_runtime.core.tables.delta import connection
from airflow_provider_runtime.core.tables.delta.types import list_columns
from airflow_provider_runtime.core.tables.ports import FileGroup, PinnedTable, RowFilter, TableAddress, TableFile

READABLE_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors"})
_DELETION_VECTORS = "deletionVectors"
_PURGE_HINT = "rewrite its files (REORG TABLE … APPLY (PURGE)), then resolve"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_MAPPING = "delta.columnMapping.mode"
_READERS = 16
_Values = tuple[tuple[str, str | None], ...]


def pin(table: DeltaTable, address: TableAddress, rows: RowFilter | None) -> PinnedTable:
    """Return the files of a table at the version at which it was opened."""
    refuse_unreadable(table, address)
    columns = list_columns(table.schema())
    partitions = table.metadata().partition_columns
    types = {column.name: column.type for column in columns}
    actions = _list_actions(table, types, rows)
    asked = (rows.columns if rows else frozenset()) - set(partitions)
    wanted = {name: type_ for name, type_ in types.items() if name in asked}
    names = _find_names(address, actions, wanted)
    grouped: dict[tuple[_Values, _Values], list[TableFile]] = defaultdict(list)
    for action in actions:
        values = tuple((name, _show(action[f"partition.{name}"])) for name in partitions)
        file = TableFile(_make_uri(address, action["path"]), action["size_bytes"], action["num_records"])
        grouped[values, names.get(action["path"], ())].append(file)
    groups = tuple(FileGroup(tuple(files), dict(called), dict(values)) for (values, called), files in grouped.items())
    _refuse_deletions(table, address, groups)
    return PinnedTable(str(table.version()), columns, groups)


def refuse_unreadable(table: DeltaTable, address: TableAddress) -> None:
    """Raise SOURCE_001 for features that change what the files mean."""
    mode = table.metadata().configuration.get(_MAPPING) or "none"
    features = set(table.protocol().reader_features or ())
    if mode != "none":
        hint = "copy it into a table without column mapping"
        raise address.make_error("SOURCE_001", f"it maps column names ({_MAPPING} = {mode})", hint)
    unknown = sorted(features - READABLE_FEATURES - {"columnMapping"})
    if unknown:
        hint = "drop the features (ALTER TABLE … DROP FEATURE), or copy it into a table without them"
        raise address.make_error("SOURCE_001", f"it uses {', '.join(unknown)}, which plain Parquet lacks", hint)


def _refuse_deletions(table: DeltaTable, address: TableAddress, groups: tuple[FileGroup, ...]) -> None:
    if _DELETION_VECTORS not in (table.protocol().reader_features or ()):
        return
    names = {file.uri.rpartition("/")[2] for group in groups for file in group.files}
    for batch in table.deletion_vectors():
        found = pyarrow.record_batch(batch).column("filepath").to_pylist()
        if any(unquote(uri.rpartition("/")[2]) in names for uri in found):
            raise address.make_error("SOURCE_001", "it has deletion vectors", _PURGE_HINT)


def _find_names(
    address: TableAddress, actions: Iterable[Mapping[str, Any]], wanted: Mapping[str, str]
) -> dict[str, _Values]:
    """Return what files call columns that they spell in another case: to Delta these are the same, to Parquet not.

    A file whose statistics name a column has it; of others the footer is asked.
    """
    unsure = {
        action["path"]: names
        for action in actions
        if (names := sorted(name for name in wanted if action.get(f"null_count.{name}") is None))
    }
    with ThreadPoolExecutor(_READERS) as pool:
        stored = pool.map(lambda path: _read_schema(address, path), unsure)
        return {
            path: tuple(_compare_names(address, path, schema, {name: wanted[name] for name in unsure[path]}))
            for path, schema in zip(unsure, stored, strict=True)
            if schema is not None
        }


def _read_schema(address: TableAddress, path: str) -> pyarrow.Schema | None:
    """Return a file's schema; None for a damaged one, of which the job says what is wrong."""
    folder, _, file = _make_uri(address, path).rpartition("/")
    try:
        with connection.open_files(replace(address, name=folder)).open_input_file(file) as stream:
            return pq.read_schema(stream)
    except pyarrow.ArrowInvalid:
        return None


def _compare_names(
    address: TableAddress, path: str, schema: pyarrow.Schema, columns: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, type_ in columns.items():
        alike = [each for each in schema.names if each.casefold() == name.casefold()]
        if name not in alike and len(alike) > 1:
            message = f"{path} has {' and '.join(alike)}, and the table {name}"
            raise address.make_error("SOURCE_001", message, "rewrite the file with the table's own columns")
        stored = name if name in alike else next(iter(alike), None)
        kind = schema.field(stored).type if stored is not None else None
        if kind == pyarrow.uint64() or (kind == pyarrow.uint32() and type_ != "bigint"):
            message = f"column {name} of {path} is {kind}, not {type_}"
            raise address.make_error("DATA_002", message, "rewrite the file with the table's own types")
        if stored is not None and stored != name:
            yield name, stored


def _list_actions(table: DeltaTable, types: Mapping[str, str], rows: RowFilter | None) -> list[dict[str, Any]]:
    """Return the files that may hold rows, with what the log says about them."""
    found = pyarrow.table(table.get_add_actions(flatten=True))
    needed = {"path", "size_bytes", "num_records"}
    needed |= {name for name in found.column_names if name.startswith("partition.")}
    needed |= {f"null_count.{name}" for name in (rows.columns if rows else ())}
    tests = _list_tests(types, rows)
    for name, _ in tests:
        needed |= {f"{kind}.{name}" for kind in ("min", "max", "null_count")}
    chosen = found.select([name for name in found.column_names if name in needed])
    return [action for action in chosen.to_pylist() if all(test(_Range(action, name)) for name, test in tests)]


class _Range:
    """What the log says about a column's values in a file."""

    def __init__(self, action: Mapping[str, Any], name: str) -> None:
        if f"partition.{name}" in action:
            value = action[f"partition.{name}"]
            self.least = self.most = value
            self.may_be_null = self.is_all_null = value is None
            return
        nulls, rows = action.get(f"null_count.{name}"), action.get("num_records")
        self.least, self.most = action.get(f"min.{name}"), action.get(f"max.{name}")
        self.may_be_null = nulls != 0
        self.is_all_null = nulls is not None and nulls == rows

    def holds(self, value: str) -> bool:
        """Return whether a value may be among them."""
        if self.is_all_null:
            return False
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)

    def begins_by(self, day: date) -> bool:
        """Return whether a value may be on or before a day."""
        return not self.is_all_null and (self.least is None or self.least <= day)

    def ends_after(self, day: date) -> bool:
        """Return whether a value may be after a day, or NULL."""
        return self.may_be_null or self.most is None or self.most > day


def _list_tests(types: Mapping[str, str], rows: RowFilter | None) -> list[tuple[str, Any]]:
    """Return what a file must pass; a column of another type than expected leaves out none."""
    tests: list[tuple[str, Any]] = []
    if rows is None:
        return tests
    period, day = rows.period, rows.as_of
    if period is not None and types.get(rows.period_column or "") == "string":
        tests.append((str(rows.period_column), lambda found: found.holds(period)))
    if day is not None and types.get(rows.from_column or "") == "date":
        tests.append((str(rows.from_column), lambda found: found.begins_by(day)))
    if day is not None and types.get(rows.to_column or "") == "date":
        tests.append((str(rows.to_column), lambda found: found.ends_after(day)))
    return tests


def _make_uri(address: TableAddress, path: str) -> str:
    """Return a file's address; the log keeps paths percent-encoded."""
    plain = unquote(path)
    return plain if _SCHEME.match(plain) else f"{address.name}/{plain}"


def _show(value: Any) -> str | None:
    """Return a partition's value as text."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)

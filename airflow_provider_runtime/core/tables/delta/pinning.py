"""A version of a Delta table as the Parquet files that hold its rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow
from deltalake import DeltaTable

from airflow_provider_runtime.core.tables.delta.types import list_columns
from airflow_provider_runtime.core.tables.ports import FileGroup, PinnedTable, RowFilter, TableAddress, TableFile

READABLE_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors"})
_DELETION_VECTORS = "deletionVectors"
_PURGE_HINT = "rewrite its files (REORG TABLE … APPLY (PURGE)), then resolve"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_MAPPING = "delta.columnMapping.mode"


def pin(table: DeltaTable, address: TableAddress, rows: RowFilter | None) -> PinnedTable:
    """Return the files of a table at the version at which it was opened."""
    refuse_unreadable(table, address)
    columns = list_columns(table.schema())
    partitions = table.metadata().partition_columns
    grouped: dict[tuple[tuple[str, str | None], ...], list[TableFile]] = defaultdict(list)
    for action in _list_actions(table, {column.name: column.type for column in columns}, rows):
        values = tuple((name, _show(action[f"partition.{name}"])) for name in partitions)
        grouped[values].append(
            TableFile(_make_uri(address, action["path"]), action["size_bytes"], action["num_records"])
        )
    groups = tuple(FileGroup(tuple(files), constants=dict(values)) for values, files in grouped.items())
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


def _list_actions(table: DeltaTable, types: Mapping[str, str], rows: RowFilter | None) -> list[dict[str, Any]]:
    """Return the files that may hold rows, with what the log says about them."""
    found = pyarrow.table(table.get_add_actions(flatten=True))
    needed = {"path", "size_bytes", "num_records"}
    needed |= {name for name in found.column_names if name.startswith("partition.")}
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

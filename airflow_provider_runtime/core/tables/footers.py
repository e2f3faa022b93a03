"""What the footer of a Parquet file says of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import pyarrow.parquet as pq

from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.ports import TableAddress


@dataclass(slots=True)
class ColumnRange:
    """A column's values in a file."""

    is_known: bool = True
    nulls: int = 0
    least: Any = None
    most: Any = None

    def add(self, found: Any) -> None:
        """Take in what a row group says."""
        if found is None or not found.has_null_count:
            self.is_known = False
            return
        self.nulls += found.null_count
        if found.has_min_max:
            self.least = found.min if self.least is None else min(self.least, found.min)
            self.most = found.max if self.most is None else max(self.most, found.max)
        elif found.num_values:
            self.is_known = False


@dataclass(frozen=True, slots=True)
class Footer:
    """How many rows a file has, and what is in its columns."""

    rows: int
    columns: Mapping[str, ColumnRange]


def read_footer(stream: IO[bytes] | Any) -> Footer:
    """Return what a file's footer says."""
    found = pq.read_metadata(stream)
    columns: dict[str, ColumnRange] = {}
    for number in range(found.num_row_groups):
        group = found.row_group(number)
        for position in range(group.num_columns):
            chunk = group.column(position)
            columns.setdefault(chunk.path_in_schema, ColumnRange()).add(chunk.statistics)
    return Footer(found.num_rows, columns)


def get_period(address: TableAddress, note: CommitNote, path: str, footer: Footer) -> str:
    """Return the one period whose rows a file holds; OUTPUT_002 when it is not one of those that are replaced."""
    found = footer.columns.get(PERIOD_COLUMN, ColumnRange(is_known=False))
    is_one = found.is_known and not found.nulls and found.least is not None and found.least == found.most
    if not is_one or (note.periods and found.least not in note.periods):
        expected = ", ".join(note.periods) or "one and the same"
        message = f"rows of {path} belong to another period than {expected}"
        hint = "see how _period is assigned, or use write_mode overwrite"
        if note.replaces_all:
            hint = f"overwrite a table that is not partitioned by {PERIOD_COLUMN}"
        raise address.make_error("OUTPUT_002", message, hint)
    return str(found.least)

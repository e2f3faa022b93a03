"""What a plan says of the data it reads: tables at pinned versions, where their rows are, and places in the YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

from spark_jobs.contract.addresses import unescape_pattern
from spark_jobs.contract.documents import Matching
from spark_jobs.contract.sql import quote_name

Role = Literal["input", "lookup", "join", "append", "check"]
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its type as Spark spells it."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the YAML that an error on the cluster points at."""

    file: str | None = None
    line: int = 1
    column: int = 1
    field: str | None = None
    operation_seq: int | None = None


@dataclass(frozen=True, slots=True)
class RegisteredSlice:
    """What the registry says of the files of a slice."""

    rows: int
    content: Annotated[str, Matching("[0-9a-f]{64}")] | None = None
    """Digest of the files without footers; None where that was unknown."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where rows are: files, a table over JDBC, a pinned version of an Iceberg or Delta table, or rows written out."""

    kind: Literal["files", "jdbc", "table", "memory"]
    format: str = ""
    uri: str = ""
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    credential_ref: str | None = None
    on_missing: Literal["error", "empty"] = "error"
    period: str | None = None
    """The period whose rows this location holds: the filter's value, and the value of a column that is not there."""
    needs_rows: bool = False
    """Whether it must hold rows of the period, and not only be there: other periods have their rows there too."""
    columns: tuple[str, ...] = ()
    """For memory: names of the values of a row, as a file's header would give them."""
    rows: tuple[tuple[str | None, ...], ...] = ()
    """For memory: one text (or NULL) for each of `columns`."""
    version: str | None = None
    """For a table: the snapshot id or version that is read."""
    files: tuple[str, ...] = ()
    """For a table: the Parquet files of this version, as paths below `uri`."""
    bytes: int | None = None
    """For a table: the bytes of `files` together, as its metadata state them."""
    registered: RegisteredSlice | None = None
    """For files that are a slice of a registered dataset."""
    file_list: Annotated[str, Matching("[0-9a-f]{64}")] | None = None
    """Where `files` are kept beside the snapshot: the digest of their list."""
    schema: tuple[Column, ...] = ()
    """For a table: its columns, as they are called and typed in this version."""
    names: Mapping[str, str | None] = field(default_factory=dict)
    """For a table: columns that have another name in these files, or (None) are not in them."""
    constants: Mapping[str, str | None] = field(default_factory=dict)
    """For a table: columns whose one value for all these files is in its metadata, as text or NULL."""

    @property
    def holds_parquet(self) -> bool:
        """Whether rows are read from Parquet files."""
        return self.kind == "table" or (self.kind == "files" and self.format == "parquet")

    @property
    def shown_uri(self) -> str:
        """The files' address as people write it, without the escapes of what is not a pattern."""
        return unescape_pattern(self.uri)


@dataclass(frozen=True, slots=True)
class Temporal:
    """How a table's rows are chosen for the run's period."""

    mode: Literal["period", "bitemporal", "snapshot"]
    period_column: str = "_period"
    from_column: str = "_period_from"
    to_column: str = "_period_to"


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a pinned version, with everything that is needed to read it."""

    role: Role
    dataset_id: str
    dataset_version: int
    table: str
    columns: tuple[Column, ...]
    temporal: Temporal
    locations: tuple[Location, ...]
    mark: str
    """Key of the mark that a failure to read this table points at."""
    natural_key_columns: tuple[str, ...] = ()
    as_of: date | None = None
    """The day whose rows a bitemporal table gives; the run's if None."""


def write_schema(columns: Iterable[Column]) -> str:
    """Return columns as the schema that Spark's readers take."""
    return ", ".join(f"{quote_name(column.name)} {column.type}" for column in columns)


def parse_decimal(type_text: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type, None for any other."""
    match = _DECIMAL.fullmatch(type_text)
    return (int(match[1]), int(match[2])) if match else None


def name_table(table: Table) -> str:
    """Return the name of a table in messages."""
    return f"table '{table.table}' of dataset '{table.dataset_id}'"


def name_column(table: Table, column: str | None) -> str:
    """Return the name of a table's column in messages."""
    return name_table(table) + (f", column '{column}'" if column else "")


def name_place(table: Table, location: Location) -> str:
    """Return the name of one of a table's locations in messages: with its period where the table has several."""
    place = location.shown_uri or location.table or location.kind
    is_one_of_many = len({found.period for found in table.locations}) > 1
    return f"{place} for {location.period}" if is_one_of_many and location.period else place

"""What the two formats have in common: where a table is, what a pinned version holds, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Literal, Protocol

from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, get_error_class
from spark_jobs.contract.codes import Code

if TYPE_CHECKING:
    from airflow_provider_runtime.core.tables.committing import CommitRequest, Committed
    from airflow_provider_runtime.core.tables.notes import CommitNote
    from spark_jobs.contract.hidden_folder import LockMark

Format = Literal["iceberg", "delta"]


@dataclass(frozen=True, slots=True)
class TableAddress:
    """Which table is meant, and how its catalog or store is reached."""

    format: Format
    name: str
    """Iceberg: namespace and name, with dots. Delta: the URI of the table's folder."""
    display: str
    """How the table is shown to people; never holds a secret."""
    catalog: str = ""
    """Iceberg: name of the catalog."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options and credentials together: properties of the Iceberg catalog, storage options of Delta."""

    def make_error(self, code: Code, message: str, hint: str | None = None) -> RuntimeProviderError:
        """Return an error about this table."""
        return get_error_class(code)(Problem(code, f"table {self.display}: {message}", hint))

    def make_damage_error(self, what: str) -> RuntimeProviderError:
        """Return the error of metadata that are not what the format says."""
        return self.make_error("DATA_001", f"{what} is damaged", "restore it from a backup; no retry helps")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column; types are spelled as Spark SQL spells them."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of a version."""

    uri: str
    size: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are read the same way."""

    files: tuple[TableFile, ...]
    names: Mapping[str, str | None] = field(default_factory=dict)
    """Columns that have another name in these files, or (None) are not in them."""
    constants: Mapping[str, str | None] = field(default_factory=dict)
    """Columns whose value is the same in all rows and is kept beside the files, as text or NULL."""


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """A version of a table, as the files that hold its rows (or those of the rows that were asked for)."""

    version: str | None
    """Snapshot id or version; None for a table to which nothing was ever written."""
    columns: tuple[TableColumn, ...]
    groups: tuple[FileGroup, ...]

    @property
    def files(self) -> tuple[TableFile, ...]:
        """All files, of all groups."""
        return tuple(file for group in self.groups for file in group.files)


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a table."""

    version: str | None = None
    """Snapshot id or version; None when the table does not exist or is empty."""
    table_id: str | None = None
    """Distinguishes a table from one that was made later under its name."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows are wanted: files that cannot hold any are left out, others may hold further rows."""

    period_column: str | None = None
    period: str | None = None
    from_column: str | None = None
    to_column: str | None = None
    as_of: date | None = None
    columns: frozenset[str] = frozenset()
    """Columns whose names in files must be certain, since they are read."""


class VersionedTable(Protocol):
    """A table of either format."""

    def find_state(self) -> TableState:
        """Return the current version, and which table has it."""

    def find_pin(self, version: str | None = None, rows: RowFilter | None = None) -> PinnedTable | None:
        """Return the files of a version, by default the current one; None when there is no table."""

    def find_location(self) -> str:
        """Return the folder below which an output's files are written, for a new table too."""

    def check_output(self, columns: tuple[TableColumn, ...], *, by_period: bool) -> None:
        """Raise OUTPUT_002 for what the table has against an output with these columns."""

    def check_rows(self, note: CommitNote, locks: tuple[str, ...] = (), *, is_shared: bool = False) -> None:
        """Raise what forbids an attempt to replace rows.

        RUN_002 for a newer attempt, PERIOD_002 for a locked period, OUTPUT_002 for rows that others do not share.
        """

    def find_newest_token(self, note: CommitNote) -> int:
        """Return the largest token that the run of this note has committed with; 0 when there is none."""

    def leave_lock(self, lock: str, mark: LockMark) -> bool:
        """Keep the mark of a lock with the table; say whether there is a table."""

    def commit(self, request: CommitRequest) -> Committed:
        """Replace rows by an attempt's files, in one step."""

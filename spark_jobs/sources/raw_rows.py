"""What every source gives: rows as they are, and what is needed to read them as declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spark_jobs.sources.columns import TextFormats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.tables import Location
    from spark_jobs.sources.seen_files import SeenFile

Credentials = Callable[[str], Mapping[str, str]]


class MissingDataError(Exception):
    """There is nothing at a location."""


class TableFolderError(Exception):
    """Files that belong to an Iceberg or Delta table, which only its metadata sets apart from those of old ones."""

    def __init__(self, folder: str, format_: str) -> None:
        super().__init__(folder)
        self.folder = folder
        self.format = format_


class ColumnMismatchError(Exception):
    """Columns that cannot be read as declared; each is reported with its name and what is wrong."""

    def __init__(self, columns: Mapping[str, str], hint: str) -> None:
        super().__init__(", ".join(columns))
        self.columns = dict(columns)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class RawRows:
    """The rows of one location before they are filtered and cast."""

    frame: DataFrame
    location: Location
    is_text: bool = False
    texts: frozenset[str] = frozenset()
    """Columns that are read as texts where others have their types."""
    formats: TextFormats = field(default_factory=TextFormats)
    folder_values: Mapping[str, str] = field(default_factory=dict)
    """SQL of what folders say of columns that rows must not have as well."""
    position: str | None = None
    """SQL of a number that is a row's own within its table, when the source knows one."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What Spark's reader was given, with credentials."""
    files: tuple[str, ...] = ()
    """The files that Spark has listed, as URIs."""
    seen_files: tuple[SeenFile, ...] | None = None
    """The same as they were when the run began to read; None where that is unknown."""
    is_small: bool = False
    """That the rows are few for certain."""
    json_lines: DataFrame | None = None
    """Lines of JSON, of which those that hold what Spark would alter are refused."""

"""What every source gives: rows as they are, and what is needed to read them as declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spark_jobs.sources.columns import TextFormats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.plan import Location

Credentials = Callable[[str], Mapping[str, str]]


class MissingDataError(Exception):
    """There is nothing at a location."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The rows of one location before they are filtered and cast."""

    frame: DataFrame
    location: Location
    is_text: bool = False
    texts: frozenset[str] = frozenset()
    """Columns that are read as texts where others have their types."""
    formats: TextFormats = field(default_factory=TextFormats)
    position: str | None = None
    """SQL of a number that is a row's own within its table, when the source knows one."""
    files: tuple[str, ...] = ()
    """The Parquet files, of tables whose rows become those of the run."""
    is_small: bool = False
    """That the rows are few for certain."""

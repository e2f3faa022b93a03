"""Datasets, their tables and pre-defined lookups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import (
    Boolean,
    Identifier,
    Model,
    Name,
    NonEmptyText,
    Text,
    Title,
    Version,
)
from airflow_provider_runtime.core.model.schema import DATE, STRING, Column, DataType

TemporalMode = Literal["period", "bitemporal", "snapshot"]
MOST_SHIFTED = 1000


class TemporalColumns(Model):
    """Names that a table uses for its temporal columns."""

    period: Name | None = None
    """Column that holds the period's identifier; default _period."""
    from_: Name | None = Field(default=None, alias="from")
    """Column that holds the first day on which a row is valid; default _period_from."""
    to: Name | None = None
    """Column that holds the first day on which a row is no longer valid; default _period_to."""


class Table(Model):
    """A table of a dataset."""

    name: Name
    """Name of the table, used in expressions and in locations."""
    temporal_mode: TemporalMode = "snapshot"
    """How rows are chosen for a period: by its identifier, by validity on a day, or all of them."""
    temporal_columns: TemporalColumns = TemporalColumns()
    """Names of the temporal columns where they differ from the defaults."""
    columns: tuple[Column, ...] = Field(min_length=1)
    """Declared columns; others that the data have are left out."""


class TableTarget(Table):
    """A lookup's target that is described in place."""

    type: Literal["table"]
    """The target is described here."""


class DatasetTarget(Model):
    """A lookup's target that is another dataset."""

    type: Literal["dataset"]
    """The target is another dataset."""
    id: NonEmptyText
    """Id or unique name of the dataset."""
    version: Version | None = None
    """Version to read; the latest active one if left out."""


class JoinCondition(Model):
    """An equality between a column of the main table and one of the target."""

    source_column: Name
    """Column of the main table."""
    target_column: Name
    """Column of the target that it must equal."""


class Lookup(Model):
    """A pre-defined left join, usable in expressions as alias.column."""

    alias: Name
    """Name of the lookup in expressions: alias.column."""
    target: Annotated[TableTarget | DatasetTarget, Field(discriminator="type")]
    """What is looked up: a table described here, or another dataset."""
    join_conditions: tuple[JoinCondition, ...] = Field(min_length=1)
    """Pairs of columns that must be equal, all of them."""


class Dataset(Model):
    """A named, versioned set of tables that projects compute on."""

    id: Identifier
    """Id of the dataset: a UUID or any name."""
    name: Title
    """Name for people; can be used in place of the id."""
    version: Version
    """Version; a definition that was used is never changed under the same version."""
    status: Literal["active", "disabled"] = "active"
    """A disabled dataset cannot be used."""
    description: Text | None = None
    """What the dataset is."""
    resolver_id: Identifier | None = None
    """Resolver that finds its data; the default resolver if left out."""
    natural_key_columns: tuple[Name, ...] = ()
    """Columns that identify a row for people."""
    main_table: Table
    """The table that projects compute on."""
    lookups: tuple[Lookup, ...] = ()
    """Left joins that every expression can use."""
    period_shift: int = Field(default=0, ge=-MOST_SHIFTED, le=0)
    """Periods before the run's, at its level, that the tables are read for: -1 is the period before."""
    on_missing: Literal["error", "empty"] | None = None
    """What a location without data means, and a period before the calendar's first; the resolver's rule if left out."""
    requires_all_periods: Boolean = False
    """Whether a finer period without data is an error where data of finer periods make up the run's."""


def list_temporal_columns(table: Table) -> tuple[tuple[str, DataType], ...]:
    """Return the columns that a table's temporal mode brings, under the names that the table gives them."""
    names = table.temporal_columns
    if table.temporal_mode == "period":
        return ((names.period or "_period", STRING),)
    if table.temporal_mode == "bitemporal":
        return ((names.from_ or "_period_from", DATE), (names.to or "_period_to", DATE))
    return ()

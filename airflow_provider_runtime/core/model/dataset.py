"""Datasets, their tables and pre-defined lookups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Identifier, Model, Name, NonEmptyText, Text, Version
from airflow_provider_runtime.core.model.schema import Column

TemporalMode = Literal["period", "bitemporal", "snapshot"]


class TemporalColumns(Model):
    """Names that a table uses for its temporal columns."""

    period: Name | None = None
    from_: Name | None = Field(default=None, alias="from")
    to: Name | None = None


class Table(Model):
    """A table of a dataset."""

    name: Name
    temporal_mode: TemporalMode = "snapshot"
    temporal_columns: TemporalColumns = TemporalColumns()
    columns: tuple[Column, ...] = Field(min_length=1)


class TableTarget(Table):
    """A lookup's target that is described in place."""

    type: Literal["table"]


class DatasetTarget(Model):
    """A lookup's target that is another dataset."""

    type: Literal["dataset"]
    id: NonEmptyText
    version: Version | None = None


class JoinCondition(Model):
    """An equality between a column of the main table and one of the target."""

    source_column: Name
    target_column: Name


class Lookup(Model):
    """A pre-defined left join, usable in expressions as alias.column."""

    alias: Name
    target: Annotated[TableTarget | DatasetTarget, Field(discriminator="type")]
    join_conditions: tuple[JoinCondition, ...] = Field(min_length=1)


class Dataset(Model):
    """A named, versioned set of tables that projects compute on."""

    id: Identifier
    name: NonEmptyText
    version: Version
    status: Literal["active", "disabled"] = "active"
    description: Text | None = None
    resolver_id: Identifier | None = None
    natural_key_columns: tuple[Name, ...] = ()
    main_table: Table
    lookups: tuple[Lookup, ...] = ()

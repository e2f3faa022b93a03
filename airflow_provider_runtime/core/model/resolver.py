"""Resolvers: rules that say where the data of a table and period are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import (
    Boolean,
    BoundedText,
    Identifier,
    Model,
    NonEmptyBoundedText,
    NonEmptyText,
    Text,
    Title,
    Version,
)

REGISTRY_RESOLVER_ID = "registry"
"""The built-in resolver of registered datasets."""
TEMPLATE_TOKENS: tuple[str, ...] = (
    "table_name",
    "dataset_id",
    "dataset_version",
    "identifier",
    "YYYY",
    "MM",
    "DD",
    "QQ",
    "start_date",
    "end_date",
)
"""Names that may be written in double braces in a location."""


class PathStrategy(Model):
    """A file or folder below a datasource's prefix."""

    type: Literal["path"]
    """A file or folder of a datasource."""
    datasource_id: Identifier
    """Datasource with the files."""
    path: NonEmptyBoundedText
    """Path below the datasource's prefix; tokens such as {{table_name}} are filled in."""


class TableStrategy(Model):
    """A table of a database."""

    type: Literal["table"]
    """A table of a database."""
    datasource_id: Identifier
    """Datasource with the database."""
    table: NonEmptyBoundedText
    """Name of the table; tokens are filled in."""
    schema_: BoundedText | None = Field(default=None, alias="schema")
    """Schema of the table."""


class CatalogStrategy(Model):
    """A web service that answers with locations."""

    type: Literal["catalog"]
    """A web service that answers with locations."""
    endpoint: NonEmptyBoundedText
    """URL of the service."""
    method: Literal["GET", "POST"] = "GET"
    """HTTP method."""
    params: dict[str, BoundedText] = Field(default_factory=dict)
    """Parameters of the request; tokens are filled in."""
    auth: Text | None = None
    """Where the credential is: airflow://CONN_ID or env://VARIABLE."""


Strategy = Annotated[PathStrategy | TableStrategy | CatalogStrategy, Field(discriminator="type")]


class Rule(Model):
    """One rule of a resolver; the first that matches is taken."""

    name: Title
    """Name for people."""
    when: Text | None = None
    """Condition over period, table and dataset; a rule without it always matches."""
    data_level: Text | None = None
    """Level of the locations: a level of the calendar, or any; the run's level if left out."""
    on_missing: Literal["error", "empty"] = "error"
    """What a location without data means."""
    requires_all_periods: Boolean = False
    """Whether a finer period without data is an error where `data_level` is finer than the run's level."""
    strategy: Strategy
    """How the location is made."""


class Resolver(Model):
    """An ordered list of rules, or a Python class."""

    id: Identifier
    """Id of the resolver."""
    name: Text | None = None
    """Name for people."""
    description: Text | None = None
    """What the resolver finds."""
    version: Version
    """Version of the definition."""
    status: Literal["active", "disabled"] = "active"
    """A disabled resolver cannot be used."""
    is_default: Boolean = False
    """Whether datasets without a resolver use this one."""
    rules: tuple[Rule, ...] = ()
    """Rules in order; the first that matches is taken."""
    class_: NonEmptyText | None = Field(default=None, alias="class")
    """Python class with resolve(request), in place of rules."""

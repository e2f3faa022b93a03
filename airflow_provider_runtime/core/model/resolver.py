"""Resolvers: rules that say where the data of a table and period are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Boolean, Identifier, Model, NonEmptyText, Text, Version

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
"""Names that may stand in double braces in a location."""


class PathStrategy(Model):
    """A file or folder below a datasource's prefix."""

    type: Literal["path"]
    datasource_id: Identifier
    path: NonEmptyText


class TableStrategy(Model):
    """A table of a database."""

    type: Literal["table"]
    datasource_id: Identifier
    table: NonEmptyText
    schema_: Text | None = Field(default=None, alias="schema")


class CatalogStrategy(Model):
    """A web service that answers with locations."""

    type: Literal["catalog"]
    endpoint: NonEmptyText
    method: Literal["GET", "POST"] = "GET"
    params: dict[str, Text] = Field(default_factory=dict)
    auth: Text | None = None


Strategy = Annotated[PathStrategy | TableStrategy | CatalogStrategy, Field(discriminator="type")]


class Rule(Model):
    """One rule of a resolver; the first that matches is taken."""

    name: NonEmptyText
    when: Text | None = None
    data_level: Text | None = None
    on_missing: Literal["error", "empty"] = "error"
    strategy: Strategy


class Resolver(Model):
    """An ordered list of rules, or a Python class."""

    id: Identifier
    name: Text | None = None
    description: Text | None = None
    version: Version
    status: Literal["active", "disabled"] = "active"
    is_default: Boolean = False
    rules: tuple[Rule, ...] = ()
    class_: NonEmptyText | None = Field(default=None, alias="class")

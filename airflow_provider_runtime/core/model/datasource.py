"""Datasources: where files and tables live."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Identifier, Model, NonEmptyText, Text


class Datasource(Model):
    """A place that data is read from and written to."""

    id: Identifier
    name: Text | None = None
    description: Text | None = None
    type: NonEmptyText
    status: Literal["active", "disabled"] = "active"
    path_prefix: Text | None = None
    options: dict[str, Text] = Field(default_factory=dict)
    credential_ref: Text | None = None

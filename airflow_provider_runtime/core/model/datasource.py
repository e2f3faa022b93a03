"""Datasources: where files and tables live."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import (
    BoundedText,
    FormatName,
    Identifier,
    Model,
    PrintableBoundedText,
    Text,
)


class Datasource(Model):
    """A place that data is read from and written to."""

    id: Identifier
    """Id of the datasource."""
    name: Text | None = None
    """Name for people."""
    description: Text | None = None
    """What the datasource is."""
    type: FormatName
    """parquet, csv, json, orc, jdbc, iceberg, delta, or any Spark format name on the classpath."""
    status: Literal["active", "disabled"] = "active"
    """A disabled datasource cannot be used."""
    path_prefix: PrintableBoundedText | None = None
    """Folder that paths begin at (Iceberg: warehouse): relative to the catalog folder, or any URI that Hadoop knows."""
    options: dict[str, BoundedText] = Field(default_factory=dict)
    """Options for Spark's reader and writer, Iceberg's catalog or Delta's store; never a secret."""
    credential_ref: Text | None = None
    """Where the credential is: airflow://CONN_ID or env://VARIABLE."""

"""Projects: an input dataset and the operations on it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Boolean, Identifier, Model, Name, NonEmptyText, Text, Version
from airflow_provider_runtime.core.model.operation import Operation


class Deadline(Model):
    """When a run is late."""

    after_period_end: Text | None = None
    after_queued: Text | None = None


class AirflowSettings(Model):
    """How a project's DAG looks and runs."""

    schedule: Text | None = "after_period"
    start_date: Text | None = None
    timezone: Text | None = None
    retries: int | None = Field(default=None, ge=0)
    retry_delay: Text | None = None
    pool: Text | None = None
    tags: tuple[Text, ...] = ()
    owner: Text | None = None
    deadline: Deadline | None = None
    requires_previous_period: Boolean = False
    allow_open_period: Boolean = False
    allow_closed: Boolean = False
    max_active_runs: int | None = Field(default=None, ge=1)
    spark: dict[str, Any] = Field(default_factory=dict)


class Project(Model):
    """A declarative computation that runs once for each period."""

    id: Identifier
    name: NonEmptyText
    version: Version
    status: Literal["draft", "active", "inactive"] = "active"
    description: Text | None = None
    input_dataset_id: NonEmptyText
    input_dataset_version: Version | None = None
    calendar: Identifier = "gregorian"
    level: Text = "month"
    selectors: dict[Name, Text] = Field(default_factory=dict)
    resolver_overrides: dict[Text, Identifier] = Field(default_factory=dict)
    operations: tuple[Operation, ...] = Field(min_length=1)
    airflow: AirflowSettings | None = None

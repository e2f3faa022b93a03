"""Projects: an input dataset and the operations on it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_provider_runtime.core.model.base import (
    Boolean,
    Identifier,
    Model,
    Name,
    NonEmptyText,
    Settings,
    Text,
    Title,
    Version,
)
from airflow_provider_runtime.core.model.check import Check
from airflow_provider_runtime.core.model.operation import Operation

AFTER_PERIOD, UPSTREAM = SCHEDULE_WORDS = ("after_period", "upstream")
"""Schedules that have a name; all others are cron expressions."""


class Deadline(Model):
    """When a run is late."""

    after_period_end: Text | None = None
    """Time after the period's end, for example 3d."""
    after_queued: Text | None = None
    """Time after the run was queued, for example 2h."""


class DataWait(Model):
    """How long a run waits for what it reads."""

    up_to: Text
    """The longest wait, for example 3d; after it, what is missing fails the run."""
    every: Text = "10m"
    """Time between two looks, for example 10m."""


class AirflowSettings(Model):
    """How a project's DAG looks and runs."""

    schedule: Text | None = AFTER_PERIOD
    """after_period, upstream, a cron expression, or null."""
    start_date: Text | None = None
    """First day that is scheduled."""
    timezone: Text | None = None
    """Time zone of the schedule."""
    retries: int | None = Field(default=None, ge=0)
    """How often a task is tried again."""
    retry_delay: Text | None = None
    """Time between tries, for example 5m."""
    pool: Text | None = None
    """Airflow pool of the tasks."""
    tags: tuple[Text, ...] = ()
    """Tags of the DAG."""
    owner: Text | None = None
    """Owner of the DAG."""
    deadline: Deadline | None = None
    """When a run is late."""
    requires_previous_period: Boolean = False
    """Whether a run waits until the period before is published."""
    wait_for_data: DataWait | None = None
    """Wait until every location that must have data has them, and only then pin."""
    allow_open_period: Boolean = False
    """Whether a period that has not ended can be run."""
    allow_closed: Boolean = False
    """Whether a closed period can be run."""
    max_active_runs: int | None = Field(default=None, ge=1)
    """How many runs of the DAG may be active at once."""
    spark: Settings = Field(default_factory=dict)
    """Arguments for spark-submit: conn_id, conf, deploy_mode, memory and the like."""


class Publication(Model):
    """What must happen before anything is published."""

    compare: Boolean = False
    """Compare with what is published before replacing it, in the report."""
    approval: Literal["required"] | None = None
    """A second person decides: the run ends staged."""
    by: tuple[NonEmptyText, ...] = ()
    """Who may approve: users of the operating system, or of Airflow."""

    @model_validator(mode="after")
    def _check_approvers(self) -> Self:
        if self.approval is not None and not self.by:
            raise PydanticCustomError("approvers", "an approval needs approvers: add `by` with their names")
        return self


class Project(Model):
    """A declarative computation that runs once for each period."""

    id: Identifier
    """Id of the project: a UUID or any name."""
    name: Title
    """Name for people; can be used in place of the id."""
    version: Version
    """Version; a definition that was used is never changed under the same version."""
    status: Literal["draft", "active", "inactive"] = "active"
    """A draft writes to the sandbox and registers nothing; an inactive project does not run."""
    description: Text | None = None
    """What the project computes."""
    input_dataset_id: NonEmptyText
    """Id or unique name of the input dataset."""
    input_dataset_version: Version | None = None
    """Version to read; the latest active one if left out."""
    calendar: Identifier = "gregorian"
    """Id of the calendar."""
    level: Text = "month"
    """Level of the periods that it runs for."""
    selectors: dict[Name, Text] = Field(default_factory=dict)
    """Named conditions, used as {{NAME}} in selectors."""
    resolver_overrides: dict[Text, Identifier] = Field(default_factory=dict)
    """Resolvers by dataset, used in place of the datasets' own."""
    operations: tuple[Operation, ...] = Field(min_length=1)
    """Operations; they run in the order of seq."""
    checks: tuple[Check, ...] = ()
    """What must be true of the outputs' rows before anything is published."""
    keep_failing_rows: Boolean = True
    """Whether rows that fail a check are kept beside the report."""
    publication: Publication = Publication()
    """What must happen before anything is published."""
    airflow: AirflowSettings | None = None
    """How the project's DAG looks and runs."""

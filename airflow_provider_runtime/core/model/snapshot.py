"""The shape of a run snapshot's document, checked when one is read: it may come from anywhere."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from airflow_provider_runtime.core.model.base import IDENTIFIER_PATTERN, Model, Version, describe_misfit
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.model.plan import Plan

SNAPSHOT_VERSION = 1


class SnapshotProject(Model):
    """Which project was run."""

    id: str = Field(pattern=IDENTIFIER_PATTERN)
    name: str
    version: Version


class SnapshotPeriod(Model):
    """Which period it was run for."""

    identifier: str = Field(pattern=IDENTIFIER_PATTERN)
    level: str
    start_date: date
    end_date: date


class SnapshotPin(Model):
    """The version and the resolver that a dataset got."""

    dataset_id: str
    dataset_version: int
    resolver_id: str
    alias: str | None = None
    operation_seq: int | None = None


class SnapshotPins(Model):
    """The versions and resolvers of all datasets."""

    input_dataset_id: str
    input_dataset_version: int
    resolver_id: str
    join_datasets: tuple[SnapshotPin, ...] = ()
    append_datasets: tuple[SnapshotPin, ...] = ()
    lookup_datasets: tuple[SnapshotPin, ...] = ()
    check_datasets: tuple[SnapshotPin, ...] = ()


class SnapshotDefinition(Model):
    """A definition that was used, with the digest that it had."""

    kind: str
    id: str
    version: Version
    digest: str


class SnapshotTrace(Model):
    """Why a table is read from where it is, of which people are shown the dataset."""

    dataset: str


class SnapshotSettings(Model):
    """What the submitting process reads of the plan's settings."""

    calendar: str | None = None
    allow_closed: bool = False
    file_status: PeriodStatus = "open"
    lies_in: tuple[str, ...] = ()
    definitions: tuple[SnapshotDefinition, ...] = ()
    registers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    trace: dict[str, SnapshotTrace] = Field(default_factory=dict)


class SnapshotDocument(Model):
    """A whole snapshot."""

    snapshot_version: Literal[1]
    run_id: str
    run_timestamp: str
    project: SnapshotProject
    period: SnapshotPeriod
    as_of: date
    resolver_snapshot: SnapshotPins
    plan: Plan


_SETTINGS = TypeAdapter(SnapshotSettings)


def find_misfit(content: bytes) -> str | None:
    """Return where and why JSON is no snapshot's document; None when it is one. Keys that are not known are no harm."""
    try:
        document = SnapshotDocument.model_validate_json(content, extra="ignore")
        _SETTINGS.validate_python(document.plan.settings, strict=False, extra="ignore")
    except ValidationError as error:
        return describe_misfit(error)
    return None

"""What a DAG needs to know of a catalog file: projects, calendars and dataset names, without expressions.

An outline is small and plain, so that it can be kept between parses.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_provider_runtime.core.catalog.collection import Collection
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.needs import list_lookup_references, list_project_references
from airflow_provider_runtime.core.catalog.rules_airflow import check_airflow
from airflow_provider_runtime.core.catalog.rules_secrets import hide_logins
from airflow_provider_runtime.core.catalog.yaml_source import parse_bytes
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.check import Check, ComparedValue
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.operation import (
    AggregateOperation,
    AppendOperation,
    Destination,
    Operation,
    OutputOperation,
    UpdateOperation,
)
from airflow_provider_runtime.core.model.project import AirflowSettings, Project
from airflow_provider_runtime.timetables.calendar_codec import CalendarData, encode_calendar


@dataclass(frozen=True)
class OperationOutline:
    """An operation as the DAG's page shows it."""

    seq: int
    type: str
    name: str
    description: str | None
    detail: str
    registers: str | None = None


@dataclass(frozen=True)
class CheckOutline:
    """A check as the DAG's page shows it."""

    name: str
    output: int
    detail: str
    on_fail: str


@dataclass(frozen=True)
class ProjectOutline:
    """A project as its DAG needs it."""

    id: str
    name: str
    version: int
    status: str
    description: str | None
    calendar: str
    level: str
    input_dataset: str
    reads: tuple[str, ...]
    """Datasets that the project refers to, by id or name."""
    operations: tuple[OperationOutline, ...]
    airflow: dict[str, Any]
    file: str
    lines: dict[str, int]
    """The line of the project, by the empty text, and of the parts that a DAG may not agree with."""
    checks: tuple[CheckOutline, ...] = ()
    approvers: tuple[str, ...] = ()
    """Who decides whether a run is published; empty: it is published when it succeeds."""

    @cached_property
    def settings(self) -> AirflowSettings:
        """The project's airflow block."""
        return AirflowSettings.model_validate_json(json.dumps(self.airflow))

    @property
    def registered(self) -> tuple[str, ...]:
        """Names of the datasets that a run registers; a draft registers none."""
        names = (operation.registers for operation in self.operations if operation.registers)
        return tuple(dict.fromkeys(names)) if self.status != "draft" else ()

    @property
    def line(self) -> int:
        """Line of the project."""
        return self.lines[""]

    def locate(self, field: str) -> Place:
        """Return the place of a part, or of the nearest that holds it."""
        names = field.split(".")
        near = (".".join(names[:count]) for count in range(len(names), -1, -1))
        line = next(self.lines[name] for name in near if name in self.lines)
        return Place(file=self.file, line=line, project=self.name, field=field)


@dataclass(frozen=True)
class DatasetOutline:
    """A dataset's names, and the datasets that its lookups refer to."""

    id: str
    name: str
    lookups: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileOutline:
    """What one file of a catalog defines."""

    projects: tuple[ProjectOutline, ...] = ()
    calendars: tuple[CalendarData, ...] = ()
    datasets: tuple[DatasetOutline, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong with the file."""


def outline_file(content: bytes, name: str) -> FileOutline:
    """Return the outline of a file's content; projects whose airflow block is wrong are problems only."""
    collection = Collection()
    collection.read_file(parse_bytes(content, name))
    problems, projects = list(collection.problems), []
    for definition in collection.projects.values():
        wrong = check_airflow(definition)
        problems += wrong
        projects += [] if wrong else [_outline_project(definition)]
    return FileOutline(
        tuple(projects),
        tuple(encode_calendar(definition.model) for definition in collection.calendars.values()),
        tuple(_outline_dataset(definition.model) for definition in collection.datasets.values()),
        tuple(hide_logins(problem) for problem in problems),
    )


def _outline_dataset(dataset: Dataset) -> DatasetOutline:
    return DatasetOutline(dataset.id, dataset.name, tuple(list_lookup_references(dataset)))


def _outline_project(definition: Definition[Project]) -> ProjectOutline:
    project = definition.model
    settings = project.airflow or AirflowSettings()
    parts = [("id",), ("calendar",), ("level",), ("airflow", "schedule")]
    lines = {".".join(path): definition.locate(*path).line for path in parts}
    lines |= {f"airflow.spark.{key}": definition.locate("airflow", "spark", key).line for key in settings.spark}
    return ProjectOutline(
        id=project.id,
        name=project.name,
        version=project.version,
        status=project.status,
        description=project.description,
        calendar=project.calendar,
        level=project.level,
        input_dataset=project.input_dataset_id,
        reads=tuple(dict.fromkeys(list_project_references(project))),
        operations=tuple(_outline_operation(entry) for entry in sorted(project.operations, key=lambda o: o.seq)),
        airflow=json.loads(settings.model_dump_json(exclude_unset=True)),
        file=definition.file,
        lines={"": lines.pop("id"), **lines},
        checks=tuple(_outline_check(check) for check in project.checks),
        approvers=project.publication.by if project.publication.approval is not None else (),
    )


def _outline_check(check: Check) -> CheckOutline:
    if check.rows is not None:
        detail = f"{check.rows} for every row"
    elif check.unique is not None:
        detail = f"one row for each {', '.join(check.unique)}"
    else:
        detail = check.value or ""
        if isinstance(check.equals, ComparedValue):
            other = check.equals
            place = f"output {other.output}" if other.output is not None else other.dataset_id or "the input"
            detail += f" equals {other.input or other.value} of {place}"
        elif check.equals is not None:
            detail += f" equals {check.equals}"
        elif check.between is not None:
            detail += f" between {' and '.join(check.between)}"
        elif check.change is not None:
            detail += f" compared with {check.change.since.replace('_', ' ')}"
    return CheckOutline(check.name, check.output, detail, check.on_fail)


def _outline_operation(operation: Operation) -> OperationOutline:
    return OperationOutline(
        operation.seq,
        operation.type,
        operation.name,
        operation.description,
        _describe(operation),
        operation.arguments.register_as_dataset if isinstance(operation, OutputOperation) else None,
    )


def _describe(operation: Operation) -> str:
    if isinstance(operation, UpdateOperation):
        return f"sets {', '.join(entry.column for entry in operation.arguments.assignments)}"
    if isinstance(operation, AggregateOperation):
        return f"by {', '.join(operation.arguments.group_by)}" if operation.arguments.group_by else "one row of all"
    if isinstance(operation, AppendOperation):
        paired = f", paired where {operation.arguments.expand.on}" if operation.arguments.expand is not None else ""
        return f"from {operation.arguments.source.dataset_id}{paired}"
    if isinstance(operation, OutputOperation):
        name = operation.arguments.register_as_dataset
        target = _describe_destination(operation.arguments.destination)
        return f"to {target}" + (f", registered as {name}" if name else "")
    return f"where {operation.selector}" if operation.selector else "all rows"


def _describe_destination(destination: Destination) -> str:
    place = destination.table or destination.path or ""
    return f"{destination.datasource_id}: {place}" if destination.datasource_id else place

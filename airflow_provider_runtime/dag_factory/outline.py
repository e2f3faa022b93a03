"""What a DAG needs to know of a catalog file: projects, calendars and dataset names, without expressions.

An outline is small and plain, so that it can be kept between parses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from airflow_provider_runtime.core.catalog.definition import Definition, SourceMap
from airflow_provider_runtime.core.catalog.documents import KINDS, read_definition
from airflow_provider_runtime.core.catalog.yaml_source import Document, parse_bytes
from airflow_provider_runtime.core.errors import Code, Place, Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.operation import (
    AggregateOperation,
    AppendOperation,
    Destination,
    Operation,
    OutputOperation,
    UpdateOperation,
)
from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.model.project import AirflowSettings, Project
from airflow_provider_runtime.timetables.calendar_codec import CalendarData, encode_calendar

OUTLINED_KINDS = ("project", "calendar", "dataset")


@dataclass(frozen=True)
class OperationOutline:
    """An operation as the DAG's page shows it."""

    seq: int
    type: str
    name: str
    description: str | None
    detail: str
    reads: tuple[str, ...] = ()
    registers: str | None = None


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
    operations: tuple[OperationOutline, ...]
    airflow: dict[str, Any]
    file: str
    line: int

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
    def reads(self) -> tuple[str, ...]:
        """Datasets that the project refers to, by id or name."""
        found = [self.input_dataset, *(ref for operation in self.operations for ref in operation.reads)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class DatasetOutline:
    """A dataset's names, and the datasets that its lookups refer to."""

    id: str
    name: str
    version: int
    lookups: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileOutline:
    """What one file of a catalog defines."""

    projects: tuple[ProjectOutline, ...] = ()
    calendars: tuple[CalendarData, ...] = ()
    datasets: tuple[DatasetOutline, ...] = ()
    problems: tuple[tuple[Code, str, str, int], ...] = ()
    """Code, message, file and line of what could not be read."""

    def list_problems(self) -> list[Problem]:
        """Return what could not be read."""
        return [
            Problem(code, message, None, Place(file=file, line=line)) for code, message, file, line in self.problems
        ]


@dataclass
class _Draft:
    projects: list[ProjectOutline] = field(default_factory=list)
    calendars: list[CalendarData] = field(default_factory=list)
    datasets: list[DatasetOutline] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def outline_file(content: bytes, name: str) -> FileOutline:
    """Return the outline of a file's content."""
    parsed = parse_bytes(content, name)
    draft = _Draft(problems=list(parsed.problems))
    for document in parsed.documents:
        for kind in OUTLINED_KINDS:
            _add_document(draft, kind, document)
    problems = tuple((p.code, p.message, p.location.file or name, p.location.line) for p in draft.problems)
    return FileOutline(tuple(draft.projects), tuple(draft.calendars), tuple(draft.datasets), problems)


def _add_document(draft: _Draft, kind: str, document: Document) -> None:
    entries = document.root.entries if document.root is not None else None
    if not entries or kind not in entries or kind not in KINDS:
        return
    key, body = entries[kind]
    definition, problems = read_definition(kind, SourceMap(document.source, body, key))
    draft.problems.extend(problems)
    if definition is None:
        return
    model: Model = definition.model
    if isinstance(model, Project):
        draft.projects.append(_outline_project(definition, model))
    elif isinstance(model, Calendar):
        draft.calendars.append(encode_calendar(model))
    elif isinstance(model, Dataset):
        lookups = [lookup.target.id for lookup in model.lookups if lookup.target.type == "dataset"]
        draft.datasets.append(DatasetOutline(model.id, model.name, model.version, tuple(lookups)))


def _outline_project(definition: Definition[Model], project: Project) -> ProjectOutline:
    place = definition.locate("id")
    settings = project.airflow or AirflowSettings()
    return ProjectOutline(
        id=project.id,
        name=project.name,
        version=project.version,
        status=project.status,
        description=project.description,
        calendar=project.calendar,
        level=project.level,
        input_dataset=project.input_dataset_id,
        operations=tuple(_outline_operation(entry) for entry in sorted(project.operations, key=lambda o: o.seq)),
        airflow=json.loads(settings.model_dump_json(exclude_unset=True)),
        file=place.file or "",
        line=place.line,
    )


def _outline_operation(operation: Operation) -> OperationOutline:
    detail, reads, registers = _describe(operation)
    return OperationOutline(
        operation.seq, operation.type, operation.name, operation.description, detail, tuple(reads), registers
    )


def _describe(operation: Operation) -> tuple[str, list[str], str | None]:
    if isinstance(operation, UpdateOperation):
        columns = ", ".join(entry.column for entry in operation.arguments.assignments)
        return f"sets {columns}", [join.dataset_id for join in operation.arguments.joins], None
    if isinstance(operation, AggregateOperation):
        return f"by {', '.join(operation.arguments.group_by)}", [], None
    if isinstance(operation, AppendOperation):
        source = operation.arguments.source.dataset_id
        return f"from {source}", [source], None
    if isinstance(operation, OutputOperation):
        name = operation.arguments.register_as_dataset
        target = _describe_destination(operation.arguments.destination)
        return f"to {target}" + (f", registered as {name}" if name else ""), [], name
    return f"where {operation.selector}" if operation.selector else "all rows", [], None


def _describe_destination(destination: Destination) -> str:
    place = destination.table or destination.path or ""
    return f"{destination.datasource_id}: {place}" if destination.datasource_id else place


def dump_outline(outline: FileOutline) -> dict[str, Any]:
    """Return an outline as JSON can hold it."""
    return asdict(outline)


def load_outline(data: Mapping[str, Any]) -> FileOutline:
    """Return the outline that was dumped."""
    return FileOutline(
        projects=tuple(_load_project(entry) for entry in data["projects"]),
        calendars=tuple(data["calendars"]),
        datasets=tuple(
            DatasetOutline(entry["id"], entry["name"], entry["version"], tuple(entry["lookups"]))
            for entry in data["datasets"]
        ),
        problems=tuple((code, message, file, line) for code, message, file, line in data["problems"]),
    )


def _load_project(data: Mapping[str, Any]) -> ProjectOutline:
    operations: Iterable[Mapping[str, Any]] = data["operations"]
    loaded = tuple(OperationOutline(**{**entry, "reads": tuple(entry["reads"])}) for entry in operations)
    return ProjectOutline(**{**data, "operations": loaded})

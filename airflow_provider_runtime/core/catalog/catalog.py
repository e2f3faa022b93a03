"""The definitions of a folder, found by id, name and version."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from airflow_provider_runtime.core.catalog.definition import Definition, Kind
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID, Resolver

Versioned = TypeVar("Versioned", Dataset, Project, Resolver)
Version = tuple[str, int]
BUILT_IN_CALENDAR: Definition[Calendar] = Definition.from_model("calendar", GREGORIAN)


def registered_dataset_id(name: str) -> str:
    """Return the id of a registered dataset."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "airflow-provider-runtime:dataset:" + name))


@dataclass(frozen=True)
class Registration:
    """An output operation that registers a dataset."""

    name: str
    project: Definition[Project]
    index: int

    @property
    def operation(self) -> OutputOperation:
        """The output operation."""
        operation = self.project.model.operations[self.index]
        assert isinstance(operation, OutputOperation)
        return operation


@dataclass(frozen=True)
class Catalog:
    """All definitions of a catalog folder."""

    root: Path
    calendars: Mapping[str, Definition[Calendar]] = field(default_factory=dict)
    datasources: Mapping[str, Definition[Datasource]] = field(default_factory=dict)
    resolvers: Mapping[Version, Definition[Resolver]] = field(default_factory=dict)
    datasets: Mapping[Version, Definition[Dataset]] = field(default_factory=dict)
    projects: Mapping[Version, Definition[Project]] = field(default_factory=dict)
    broken: frozenset[tuple[Kind, str]] = frozenset()
    """Kind and id, and kind and name, of documents with errors: a reference to one of these is not reported as well."""

    def is_broken(self, kind: Kind, ref: str) -> bool:
        """Whether a document of this kind and id or name exists, but could not be read."""
        return (kind, ref) in self.broken

    def find_calendar(self, identifier: str) -> Definition[Calendar] | None:
        """Return a calendar; gregorian is built in."""
        return self.calendars.get(identifier) or (BUILT_IN_CALENDAR if identifier == GREGORIAN.id else None)

    def find_datasource(self, identifier: str) -> Definition[Datasource] | None:
        """Return a datasource, whatever its status."""
        return self.datasources.get(identifier)

    def list_resolver_versions(self, identifier: str) -> tuple[Definition[Resolver], ...]:
        """Return every version of a resolver, oldest first."""
        return self._resolver_index.get(identifier, ())

    def find_resolver(self, identifier: str, version: int | None = None) -> Definition[Resolver] | None:
        """Return a version of a resolver, or the highest active one."""
        return _pick(self.list_resolver_versions(identifier), version)

    def default_resolver(self) -> Definition[Resolver] | None:
        """Return the active default resolver in its highest version."""
        defaults = [
            found for found in self.resolvers.values() if found.model.status == "active" and found.model.is_default
        ]
        return max(defaults, key=lambda found: found.model.version, default=None)

    def list_dataset_versions(self, ref: str) -> tuple[Definition[Dataset], ...]:
        """Return every version of a dataset, found by id or name, oldest first."""
        return self._dataset_index.get(ref, ())

    def find_dataset(self, ref: str, version: int | None = None) -> Definition[Dataset] | None:
        """Return a version of a dataset, whatever its status, or the highest active one."""
        return _pick(self.list_dataset_versions(ref), version)

    def list_project_versions(self, ref: str) -> tuple[Definition[Project], ...]:
        """Return every version of a project, found by id or name, oldest first."""
        return self._project_index.get(ref, ())

    def find_project(self, ref: str, version: int | None = None) -> Definition[Project] | None:
        """Return a version of a project, or the highest active one, else the highest draft."""
        versions = self.list_project_versions(ref)
        if version is not None:
            return _pick(versions, version)
        return _pick(versions) or _pick(versions, status="draft")

    @cached_property
    def registrations(self) -> tuple[Registration, ...]:
        """Every output of every project that registers a dataset."""
        return tuple(
            Registration(operation.arguments.register_as_dataset, project, index)
            for project in self.projects.values()
            for index, operation in enumerate(project.model.operations)
            if isinstance(operation, OutputOperation) and operation.arguments.register_as_dataset is not None
        )

    def find_registration(self, ref: str) -> Registration | None:
        """Return the output that registers a dataset, by its name or id; of several, the best project's."""
        return self._registration_index.get(ref)

    def with_datasets(self, definitions: Iterable[Definition[Dataset]]) -> Catalog:
        """Return a catalog that knows further datasets too; known ids and versions stay as they are."""
        added = {(found.model.id, found.model.version): found for found in definitions}
        return replace(self, datasets={**added, **self.datasets})

    @cached_property
    def _dataset_index(self) -> dict[str, tuple[Definition[Dataset], ...]]:
        return _index(self.datasets.values())

    @cached_property
    def _project_index(self) -> dict[str, tuple[Definition[Project], ...]]:
        return _index(self.projects.values())

    @cached_property
    def _registration_index(self) -> dict[str, Registration]:
        found: dict[str, Registration] = {}
        for entry in self.registrations:
            for ref in (entry.name, registered_dataset_id(entry.name)):
                if entry.project.model.status != "inactive":
                    found[ref] = max(found.get(ref, entry), entry, key=_rank_registration)
        return found

    @cached_property
    def _resolver_index(self) -> dict[str, tuple[Definition[Resolver], ...]]:
        return _index(self.resolvers.values())


def _rank_registration(entry: Registration) -> tuple[bool, int]:
    return entry.project.model.status == "active", entry.project.model.version


def _index(definitions: Collection[Definition[Versioned]]) -> dict[str, tuple[Definition[Versioned], ...]]:
    """Group versions by id, and by every name that an id has but a resolver's; an id wins over another's name."""
    ordered = sorted(definitions, key=lambda found: found.model.version)
    grouped: dict[str, list[Definition[Versioned]]] = {}
    for found in ordered:
        grouped.setdefault(found.model.id, []).append(found)
    by_id = {identifier: tuple(versions) for identifier, versions in grouped.items()}
    by_name: dict[str, tuple[Definition[Versioned], ...]] = {}
    for found in reversed(list(definitions)):
        if not isinstance(found.model, Resolver):
            by_name[found.model.name] = by_id[found.model.id]
    return {**by_name, **by_id}


def _pick(
    versions: tuple[Definition[Versioned], ...], version: int | None = None, status: str = "active"
) -> Definition[Versioned] | None:
    for found in reversed(versions):
        if found.model.version == version or (version is None and found.model.status == status):
            return found
    return None


__all__ = [
    "BUILT_IN_CALENDAR",
    "REGISTRY_RESOLVER_ID",
    "Catalog",
    "Registration",
    "registered_dataset_id",
]

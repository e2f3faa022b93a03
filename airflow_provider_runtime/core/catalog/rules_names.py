"""Names: one name belongs to one id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.project import Project

Named = TypeVar("Named", Dataset, Project)


def check_names(catalog: Catalog) -> list[Problem]:
    """Return a problem for each name that two datasets or two projects have."""
    return [*_check_kind(catalog.datasets.values()), *_check_kind(catalog.projects.values())]


def _check_kind(definitions: Iterable[Definition[Named]]) -> list[Problem]:
    listed = list(definitions)
    identifiers = {definition.model.id: definition for definition in reversed(listed)}
    owners: dict[str, Definition[Named]] = {}
    problems: list[Problem] = []
    for definition in listed:
        name = definition.model.name
        first = owners.setdefault(name, definition)
        if first.model.id == definition.model.id and name != definition.model.id:
            first = identifiers.get(name, first)
        if first.model.id == definition.model.id:
            continue
        place = first.locate("name" if first.model.name == name else "id")
        message = f"{definition.kind} name '{name}' is taken by '{first.model.id}'"
        hint = f"it is in {place.file}, line {place.line}; choose another name"
        problems.append(Problem("CATALOG_003", message, hint, definition.locate("name")))
    return problems

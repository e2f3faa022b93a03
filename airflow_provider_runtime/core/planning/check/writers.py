"""What several projects of a catalog write: a dataset has one registrant, a table one writer unless shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.resolve.destinations import resolve_destination
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import get_option


def list_writer_problems(catalog: Catalog, projects: Iterable[Definition[Project]]) -> list[Problem]:
    """Return CATALOG_003 for a second registrant of a name, and a warning for a second writer of a table."""
    problems: list[Problem] = []
    registrants: dict[str, Project] = {}
    writers: dict[tuple[str, str], tuple[Project, bool]] = {}
    for definition, index, operation in _list_outputs(projects):
        project, name = definition.model, operation.arguments.register_as_dataset
        if name is not None and registrants.setdefault(name, project).id != project.id:
            message = f"dataset '{name}' is registered by project '{registrants[name].name}' as well"
            place = definition.locate("operations", index, "arguments", "register_as_dataset")
            problems.append(Problem("CATALOG_003", message, "give one of the two another name", place))
        destination = _find_destination(catalog, definition, index)
        if destination is None:
            continue
        key = (get_option(destination.options, "url") or "", destination.uri or destination.table or "")
        other, is_shared = writers.setdefault(key, (project, destination.shared))
        if other.id != project.id and not (is_shared and destination.shared):
            message = (
                f"project '{other.name}' writes to {destination.display} as well; what it has published is not replaced"
            )
            hint = "write to another table, or say `shared: true` on both destinations"
            place = definition.locate("operations", index, "arguments", "destination")
            problems.append(Problem("OUTPUT_002", message, hint, place, "warning"))
    return problems


def _list_outputs(
    projects: Iterable[Definition[Project]],
) -> Iterator[tuple[Definition[Project], int, OutputOperation]]:
    for definition in projects:
        # A draft writes to its own part of the sandbox, and registers nothing.
        if definition.model.status != "active":
            continue
        for index, operation in enumerate(definition.model.operations):
            if isinstance(operation, OutputOperation):
                yield definition, index, operation


def _find_destination(catalog: Catalog, definition: Definition[Project], index: int) -> Destination | None:
    try:
        return resolve_destination(catalog, definition, index)
    except RuntimeProviderError:
        return None

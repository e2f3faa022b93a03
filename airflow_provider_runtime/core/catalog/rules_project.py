"""Projects as documents: what they refer to, where outputs go, and the airflow block; not their operations' meaning."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.catalog.rules_airflow import check_airflow
from airflow_provider_runtime.core.catalog.rules_calendar import find_level_fault
from airflow_provider_runtime.core.catalog.rules_dataset import is_unknown_resolver
from airflow_provider_runtime.core.catalog.rules_secrets import check_format, check_options, check_url
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.operation import Destination, OutputOperation
from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.suggest import suggest


def check_project_document(catalog: Catalog, definition: Definition[Project]) -> list[Problem]:
    """Return what is wrong with a project apart from what its operations compute."""
    check = _ProjectCheck(catalog, definition)
    check.run()
    return check.problems


def find_calendar_fault(catalog: Catalog, definition: Definition[Project]) -> Problem | None:
    """Return CATALOG_004 when a project's calendar is not known, or has no such level."""
    known = {GREGORIAN.id: GREGORIAN} | {name: found.model for name, found in catalog.calendars.items()}
    return find_level_fault(definition.model.calendar, definition.model.level, known, definition.locate)


class _ProjectCheck:
    def __init__(self, catalog: Catalog, definition: Definition[Project]) -> None:
        self._catalog, self._definition, self._project = catalog, definition, definition.model
        self.problems: list[Problem] = []

    def run(self) -> None:
        """Check everything."""
        fault = find_calendar_fault(self._catalog, self._definition)
        if fault is not None and not self._catalog.is_broken("calendar", self._project.calendar):
            self.problems.append(fault)
        self._check_overrides()
        for index, operation in enumerate(self._project.operations):
            if isinstance(operation, OutputOperation):
                path: Path = ("operations", index, "arguments", "destination")
                self._check_destination(path, operation.arguments.destination)
        self.problems += check_airflow(self._definition)

    def _report(self, code: Code, path: Path, message: str, hint: str | None = None, *, key: bool = False) -> None:
        self.problems.append(Problem(code, message, hint, self._definition.locate(*path, key=key)))

    def _check_overrides(self) -> None:
        for dataset, resolver in self._project.resolver_overrides.items():
            path: Path = ("resolver_overrides", dataset)
            if is_unknown_resolver(self._catalog, resolver):
                known = dict.fromkeys(identifier for identifier, _ in self._catalog.resolvers)
                self._report("CATALOG_004", path, f"unknown resolver '{resolver}'", suggest(resolver, known))

    def _check_destination(self, path: Path, destination: Destination) -> None:
        if destination.datasource_id is None:
            self._check_inline(path, destination)
        else:
            self._check_datasource_place(path, destination)
        self.problems += check_options(self._definition, (*path, "options"), destination.options)
        self.problems += check_url(self._definition, (*path, "path"), destination.path)

    def _check_inline(self, path: Path, destination: Destination) -> None:
        # What keeps a destination from being resolved is OUTPUT_002 of the project check.
        if destination.type is None:
            return
        self.problems += check_format(self._definition, (*path, "type"), destination.type)

    def _check_datasource_place(self, path: Path, destination: Destination) -> None:
        if destination.type is not None:
            message = "the type of a destination is its datasource's"
            self._report("CATALOG_002", (*path, "type"), message, "remove type, or datasource_id", key=True)
        if destination.options:
            message = "the options of a destination are its datasource's"
            self._report("CATALOG_002", (*path, "options"), message, "write them in the datasource", key=True)

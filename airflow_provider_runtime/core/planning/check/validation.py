"""Validation of a whole catalog, or of what one project needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult, load_catalog
from airflow_provider_runtime.core.catalog.partly_read import PartlyRead
from airflow_provider_runtime.core.errors import Place, Problem, ResolveError, get_error_class, raise_problems
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.check.placing import place_in_project
from airflow_provider_runtime.core.planning.check.project import ProjectChecks, explain_missing_project
from airflow_provider_runtime.core.planning.check.registered import add_registered_versions
from airflow_provider_runtime.core.planning.check.used_definitions import find_used_definitions, list_changed
from airflow_provider_runtime.core.planning.check.warnings import list_catalog_warnings, list_project_warnings
from airflow_provider_runtime.core.planning.check.writers import list_writer_problems
from airflow_provider_runtime.core.planning.resolve.resolver_choice import choose_resolver, is_reported_by_catalog
from airflow_provider_runtime.core.registry.ports import Registry


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found, and how much was looked at."""

    problems: tuple[Problem, ...]
    summary: str

    def is_valid(self, *, strict: bool = False) -> bool:
        """Whether nothing is wrong; with `strict` a warning counts as well."""
        return not any(strict or problem.severity == "error" for problem in self.problems)


def validate_catalog(root: Path, *, project: str | None = None, registry: Registry | None = None) -> Validation:
    """Check every definition of a folder, or with `project` those that this project needs.

    With a registry, registered datasets are those that it knows, and a definition may not differ from what was run.
    """
    loaded = load_catalog(root, project=project)
    if project is None:
        return _validate_all(loaded, registry)
    checked, problems = _check_one(loaded, project, registry)
    if checked is None:
        return Validation(problems, "")
    model = checked.definition.model
    chosen = _check_choices(loaded.catalog, checked, registry)
    warnings = list_project_warnings(checked)
    return Validation(_merge([*problems, *chosen, *warnings]), f"project '{model.name}' version {model.version}")


def load_checked_project(root: Path, reference: str) -> CheckedProject:
    """Load and check one project with all that it needs; raise everything that is wrong with these."""
    loaded = load_catalog(root, project=reference)
    checked, problems = _check_one(loaded, reference)
    raise_problems(problems)
    assert checked is not None
    return checked


def _check_one(
    loaded: LoadResult, reference: str, registry: Registry | None = None
) -> tuple[CheckedProject | None, tuple[Problem, ...]]:
    definition = loaded.catalog.find_project(reference)
    if definition is None:
        return None, explain_missing(loaded, reference, registry)
    return check_needed(add_registered_versions(loaded.catalog, [definition], registry), loaded, definition)


def check_needed(
    catalog: Catalog, loaded: LoadResult, definition: Definition[Project], checks: ProjectChecks | None = None
) -> tuple[CheckedProject, tuple[Problem, ...]]:
    """Check a project, and the projects whose registered datasets it reads; `loaded` knows what could not be read."""
    checks = checks or ProjectChecks(catalog)
    checked = checks.check(definition)
    needed = [problem for found in checks.list_checked() for problem in choose_needed(loaded, found)]
    return checked, _merge([*needed, *(problem for found in checks.list_checked() for problem in found.problems)])


def _validate_all(loaded: LoadResult, registry: Registry | None) -> Validation:
    projects = list_runnable(loaded.catalog)
    checks = ProjectChecks(add_registered_versions(loaded.catalog, projects, registry))
    problems = list(loaded.problems)
    for definition in projects:
        checked = checks.check(definition)
        problems += [*checked.problems, *_check_choices(loaded.catalog, checked, registry)]
        problems += list_project_warnings(checked)
    problems += [found for partly in loaded.partly for found in _check_partly(checks, partly)]
    catalog = loaded.catalog
    problems += list_catalog_warnings(catalog, checks.list_checked())
    problems += list_writer_problems(catalog, projects)
    summary = f"{_count(len(catalog.datasets), 'dataset')}, {_count(len(catalog.projects), 'project')}"
    return Validation(_merge(problems), summary)


def _check_partly(checks: ProjectChecks, partly: PartlyRead) -> list[Problem]:
    """Return what else is wrong with a project that could not be read whole."""
    return partly.drop_followers(checks.check(partly.definition).problems)


def _check_choices(catalog: Catalog, checked: CheckedProject, registry: Registry | None) -> list[Problem]:
    """Return why tables have no resolver, and which definitions have changed after a run used them."""
    problems, resolvers = [], []
    read = {use.key for use in checked.read_tables}
    for use in checked.tables:
        try:
            choice = choose_resolver(catalog, checked.definition, use.dataset.model, use.location)
            resolvers += [choice.definition] if choice.definition is not None else []
        except ResolveError as error:
            if use.key in read and not is_reported_by_catalog(catalog, checked.definition, use.dataset.model):
                problems += [place_in_project(found, checked.definition, use.role) for found in error.problems]
    return [*problems, *list_changed(registry, find_used_definitions(catalog, checked, resolvers))]


def list_runnable(catalog: Catalog) -> list[Definition[Project]]:
    """Return the projects that can run: drafts, and of the active versions of a project the highest."""
    found = []
    for definition in catalog.projects.values():
        status = definition.model.status
        if status == "draft" or (status == "active" and catalog.find_project(definition.model.id) is definition):
            found.append(definition)
    return found


def get_project(loaded: LoadResult, reference: str, version: int | None = None) -> Definition[Project]:
    """Return a project by id or name; raise what `explain_missing` returns when it is not there."""
    definition = loaded.catalog.find_project(reference, version)
    if definition is None:
        problems = explain_missing(loaded, reference)
        raise get_error_class(problems[0].code)(problems)
    return definition


def explain_missing(loaded: LoadResult, reference: str, registry: Registry | None = None) -> tuple[Problem, ...]:
    """Return the mistakes of the project's own document if that is why it is missing, else that it is."""
    catalog = loaded.catalog
    if catalog.is_broken("project", reference):
        meant = [found for found in loaded.partly if found.is_called(reference)]
        names = {reference, *(found.definition.model.name for found in meant)}
        own = [problem for problem in loaded.problems if problem.location.project in names]
        checks = ProjectChecks(add_registered_versions(catalog, [found.definition for found in meant], registry))
        return _merge([*(own or loaded.problems), *(found for part in meant for found in _check_partly(checks, part))])
    if any(found.location.file == str(catalog.root) for found in loaded.problems):
        return loaded.problems
    problem = explain_missing_project(catalog, reference)
    if problem.location.file is None:
        problem = Problem(problem.code, problem.message, problem.hint, Place(file=str(catalog.root)))
    unreadable = [found for found in loaded.problems if found.code == "CATALOG_001"]
    return (*unreadable, problem)


def _merge(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems once each: several projects meet the same mistake of a dataset."""
    return tuple(dict.fromkeys(problems))


def choose_needed(loaded: LoadResult, checked: CheckedProject) -> list[Problem]:
    """Return the catalog's problems in the files that a project needs."""
    if checked.depends_on_broken or not loaded.problems:
        return list(loaded.problems)
    files = list_needed_files(checked)
    name = checked.definition.model.name
    return [
        problem
        for problem in loaded.problems
        if problem.location.file in files and problem.location.project in (None, name)
    ]


def list_needed_files(checked: CheckedProject) -> set[str]:
    """Return the files of the definitions that a project needs: itself, datasets, resolvers, datasources, calendar."""
    catalog, project = checked.catalog, checked.definition.model
    datasets = [use.dataset for use in checked.tables]
    files = {checked.definition.file, *(definition.file for definition in datasets)}
    calendar = catalog.find_calendar(project.calendar)
    if calendar is not None:
        files.add(calendar.file)
    names = {*project.resolver_overrides.values(), *(d.model.resolver_id for d in datasets if d.model.resolver_id)}
    resolvers = [version for name in names for version in catalog.list_resolver_versions(name)]
    default = catalog.default_resolver()
    resolvers += [default] if default is not None else []
    sources = [rule.strategy for definition in resolvers for rule in definition.model.rules]
    ids = {getattr(strategy, "datasource_id", None) for strategy in sources}
    for operation in project.operations:
        if isinstance(operation, OutputOperation):
            ids.add(operation.arguments.destination.datasource_id)
    files |= {definition.file for definition in resolvers}
    return files | {found.file for name in ids if name and (found := catalog.find_datasource(name)) is not None}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

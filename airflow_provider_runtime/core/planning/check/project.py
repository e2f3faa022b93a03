"""Checks a whole project without Spark and without data, following the schema through its operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from airflow_provider_runtime.core.catalog.catalog import Catalog, Registration
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.needs import list_lookup_references, list_project_references
from airflow_provider_runtime.core.errors import Code, Place, Problem
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.scope import Scope
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.schema import NULL, Column
from airflow_provider_runtime.core.planning.check import CHECKERS, OperationContext
from airflow_provider_runtime.core.planning.check.checked import (
    CheckedOperation,
    CheckedProject,
    Path,
    TableUse,
)
from airflow_provider_runtime.core.planning.check.checks import check_checks
from airflow_provider_runtime.core.planning.check.context import (
    LookupUse,
    ProjectContext,
    make_table_use,
)
from airflow_provider_runtime.core.planning.check.datasets import DatasetAnswer, find_dataset_version
from airflow_provider_runtime.core.planning.check.lookups import check_lookups
from airflow_provider_runtime.core.planning.check.registered import infer_output_schema
from airflow_provider_runtime.core.planning.check.wording import SELECTOR
from airflow_provider_runtime.core.planning.check.working import (
    SettledTypes,
    WorkingSchema,
    find_recursive,
    settle_types,
)
from airflow_provider_runtime.core.planning.resolve.destinations import DEFAULT_SANDBOX
from airflow_provider_runtime.core.suggest import suggest

WITHOUT_INPUT: frozenset[Code] = frozenset(
    ("EXPR_001", "EXPR_003", "JOIN_001", "JOIN_002", "JOIN_003", "JOIN_004", "APPEND_001", "APPEND_002", "DATASET_002")
)
"""Mistakes that do not depend on the columns of the input."""


def check_project(catalog: Catalog, definition: Definition[Project]) -> CheckedProject:
    """Check one project; datasets that other projects register are inferred as far as it needs them."""
    return ProjectChecks(catalog).check(definition)


def check_runnable(catalog: Catalog, definition: Definition[Project], *, sandbox: str | None = None) -> list[Problem]:
    """Return why a project may not run in its status: inactive, or a draft without a sandbox."""
    project = definition.model
    if project.status == "inactive":
        message = f"project '{project.name}' version {project.version} is inactive"
        return [Problem("PROJECT_002", message, "set status to active or draft", definition.locate("status"))]
    if project.status == "draft":
        name = sandbox or DEFAULT_SANDBOX
        found = catalog.find_datasource(name)
        if found is None or found.model.status != "active":
            message = f"project '{project.name}' is a draft, and there is no active datasource '{name}' for its outputs"
            hint = "add a datasource with the id sandbox, or name one (--sandbox, or sandbox of ResolveOperator)"
            return [Problem("PROJECT_002", message, hint, definition.locate("status"))]
    return []


def explain_missing_project(catalog: Catalog, reference: str) -> Problem:
    """Return PROJECT_001 or PROJECT_002 for a project that `find_project` does not give."""
    versions = catalog.list_project_versions(reference)
    if versions:
        message = f"project '{reference}' has no active or draft version"
        return Problem("PROJECT_002", message, "set status to active or draft", versions[-1].locate("status"))
    names = {definition.model.name for definition in catalog.projects.values()} | {key for key, _ in catalog.projects}
    return Problem("PROJECT_001", f"project '{reference}' not found", suggest(reference, sorted(names)))


@dataclass
class ProjectChecks:
    """Checks projects of one catalog, each once, and infers the datasets that they register."""

    catalog: Catalog
    _done: dict[tuple[str, int], CheckedProject] = field(default_factory=dict)
    _under_way: set[tuple[str, int]] = field(default_factory=set)
    _inferred: dict[str, Definition[Dataset]] = field(default_factory=dict)

    def check(self, definition: Definition[Project]) -> CheckedProject:
        """Check one project, after those that it depends on; without recursion, as their chain may be long."""
        waiting = [] if _key(definition) in self._done else [(definition, self._list_needed(definition))]
        while waiting:
            current, needed = waiting[-1]
            self._under_way.add(_key(current))
            project = next(needed, None)
            if project is None:
                self._done[_key(current)] = _check(self.catalog, current, self)
                self._under_way.discard(_key(current))
                waiting.pop()
            elif _key(project) not in self._done and _key(project) not in self._under_way:
                waiting.append((project, self._list_needed(project)))
        return self._done[_key(definition)]

    def _list_needed(self, definition: Definition[Project]) -> Iterator[Definition[Project]]:
        """Yield the projects that register what a project reads: its input first, without which nothing is read."""
        yield from self._find_registering(definition.model.input_dataset_id)
        source = _check_input(definition, self, [])
        references = list_project_references(definition.model)
        for reference in references if source is None else list_references(definition.model, source):
            yield from self._find_registering(reference)

    def _find_registering(self, reference: str) -> Iterator[Definition[Project]]:
        found = self._find_registration(reference)
        if found is not None:
            yield found.project

    def _find_registration(self, reference: str) -> Registration | None:
        if self.catalog.list_dataset_versions(reference) or self.catalog.is_broken("dataset", reference):
            return None
        return self.catalog.find_registration(reference)

    def list_checked(self) -> tuple[CheckedProject, ...]:
        """Return every project that has been checked: asked for, or read through its registered dataset."""
        return tuple(self._done.values())

    def find_dataset(self, reference: str, version: int | None) -> DatasetAnswer:
        """Look a dataset up in the catalog, then among what projects register."""
        registration = self._find_registration(reference)
        if registration is None:
            return find_dataset_version(self.catalog, reference, version)
        if registration.name not in self._inferred:
            project = registration.project
            if _key(project) in self._under_way:
                hint = f"project '{project.model.name}' registers it, and its schema depends on this very reference"
                return DatasetAnswer(None, "not_found", hint)
            dataset = infer_output_schema(self.check(project), registration.operation.seq)
            if dataset is None:
                return DatasetAnswer(None, "broken")
            self._inferred[registration.name] = Definition.from_model("dataset", dataset, project.file)
        return DatasetAnswer(self._inferred[registration.name])


def _key(definition: Definition[Project]) -> tuple[str, int]:
    return definition.model.id, definition.model.version


def _check(catalog: Catalog, definition: Definition[Project], checks: ProjectChecks) -> CheckedProject:
    """Walk through the operations until the types of added columns are settled."""
    opening = [*_check_seqs(definition), *_check_overrides(catalog, definition)]
    source = _check_input(definition, checks, opening)
    if source is None:
        is_broken = catalog.is_broken("dataset", definition.model.input_dataset_id)
        opening += _check_without_input(catalog, definition, checks)
        return CheckedProject(definition, catalog, None, (), (), (), tuple(opening), depends_on_broken=is_broken)
    settled = SettledTypes()
    for number in range(len(definition.model.operations) + 3):
        context, operations = _walk(catalog, definition, checks, source, settled)
        working = context.working
        recursive = settled.recursive if number else find_recursive(working.contributions)
        settled = settle_types(working.contributions, recursive)
        if not working.widened and all(column.type == settled.types[column.name] for column in working.added.values()):
            break
    _check_only_null(context)
    _check_unused_selectors(context)
    found = check_checks(context, operations, source)
    return CheckedProject(
        definition,
        catalog,
        source,
        (source, *context.tables),
        WorkingSchema.start(source.table).columns,
        tuple(operations),
        (*opening, *context.problems),
        found,
        context.depends_on_broken,
    )


def _check_without_input(catalog: Catalog, definition: Definition[Project], checks: ProjectChecks) -> Iterator[Problem]:
    """Yield what is wrong whatever columns the input has."""
    table = Table(name="unknown", columns=(Column(name="unknown", type="string"),))
    unknown = Dataset(id="unknown", name="unknown", version=1, main_table=table)
    source = make_table_use(Definition.from_model("dataset", unknown, definition.file), "input", "unknown", Place())
    context, _ = _walk(catalog, definition, checks, source, SettledTypes())
    yield from (problem for problem in context.problems if problem.code in WITHOUT_INPUT)


def _walk(
    catalog: Catalog,
    definition: Definition[Project],
    checks: ProjectChecks,
    source: TableUse,
    settled: SettledTypes,
) -> tuple[ProjectContext, list[CheckedOperation]]:
    """Check all operations in seq order, with what is known of the added columns' types."""
    working = WorkingSchema.start(source.table, settled)
    context = ProjectContext(catalog, definition, working, checks.find_dataset)
    context.depends_on_broken = any(
        catalog.is_broken("dataset", name) for name in list_references(definition.model, source)
    )
    check_lookups(context, source)
    indexed = sorted(enumerate(definition.model.operations), key=lambda pair: pair[1].seq)
    operations = [CHECKERS[operation.type](OperationContext(context, operation, index)) for index, operation in indexed]
    return context, operations


def list_references(project: Project, source: TableUse) -> list[str]:
    """Return every dataset reference of a project and of its input's lookups, as written."""
    return [*list_project_references(project), *list_lookup_references(source.dataset.model)]


def _check_seqs(definition: Definition[Project]) -> list[Problem]:
    problems = []
    seen: dict[int, str] = {}
    for index, operation in enumerate(definition.model.operations):
        path: Path = ("operations", index, "seq")
        if operation.seq < 1:
            message = f"seq must be positive, found {operation.seq}"
            problems.append(Problem("PROJECT_003", message, "number the operations from 1", definition.locate(*path)))
        elif operation.seq in seen:
            message = f"seq {operation.seq} is used twice, first by '{seen[operation.seq]}'"
            free = max(other.seq for other in definition.model.operations) + 10
            problems.append(
                Problem("PROJECT_003", message, f"give it another number, such as {free}", definition.locate(*path))
            )
        seen.setdefault(operation.seq, operation.name)
    return problems


def _check_overrides(catalog: Catalog, definition: Definition[Project]) -> list[Problem]:
    """Return a problem for each override of a dataset that does not exist: it would never take effect."""
    problems = []
    for name in definition.model.resolver_overrides:
        answer = find_dataset_version(catalog, name, None)
        if answer.reason == "not_found" and catalog.find_registration(name) is None:
            message = f"resolver_overrides names an unknown dataset '{name}'"
            place = definition.locate("resolver_overrides", name, key=True)
            problems.append(Problem("CATALOG_004", message, answer.hint, place))
    return problems


def _check_input(definition: Definition[Project], checks: ProjectChecks, problems: list[Problem]) -> TableUse | None:
    project = definition.model
    answer = checks.find_dataset(project.input_dataset_id, project.input_dataset_version)
    if answer.definition is None:
        missing = answer.describe("input dataset", project.input_dataset_id, project.input_dataset_version)
        if missing is not None:
            problems.append(Problem(*missing, answer.hint, definition.locate(f"input_{answer.key}")))
        return None
    return make_table_use(
        answer.definition,
        "input",
        project.input_dataset_id,
        definition.locate("input_dataset_id"),
        pinned=project.input_dataset_version,
    )


def _check_only_null(context: ProjectContext) -> None:
    """Report added columns that never get anything but NULL."""
    for name, column in context.working.added.items():
        if column.type == NULL:
            first = context.working.contributions[name][0]
            place = context.definition.locate("operations", first.index, *first.path)
            message = f"column '{name}' only gets NULL, so that it has no type"
            hint = "put a typed value into it, or leave the column out"
            context.problems.append(Problem("EXPR_004", message, hint, place))


def _check_unused_selectors(context: ProjectContext) -> None:
    """Check named selectors that nothing uses against the schema after the last operation."""
    lookups: Iterable[tuple[str, LookupUse]] = context.lookups.items()
    scope = Scope(
        context.working.relation,
        {alias: lookup.relation for alias, lookup in lookups},
        context.definition.model.selectors,
    )
    for name in context.definition.model.selectors:
        if name in context.used_selectors:
            continue
        result = check_expression("{{" + name + "}}", scope, expect_boolean=True)
        for problem in result.problems:
            hidden = problem.kind == "unknown_column" and problem.column in context.working.poisoned
            if hidden or (problem.kind == "unknown_table" and problem.table in context.unknown_aliases):
                continue
            code, message = SELECTOR.translate(problem)
            if problem.selector is None:
                place: Place = context.definition.locate("selectors", name)
                context.problems.append(Problem(code, message, problem.hint, place))
            else:
                context.report_in_selector(problem, code, message, None)


__all__ = ["ProjectChecks", "check_project", "check_runnable", "explain_missing_project"]

"""Warnings: what is legal and nearly always wrong. A comment `# ok: WARN_001 reason` at the place silences one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.needs import list_lookup_references, list_project_references
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.expr.typed import has_window
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.operation import OutputOperation, UpdateOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject, Path
from airflow_provider_runtime.core.planning.check.conditions import list_condition_warnings
from airflow_provider_runtime.core.planning.check.unmatched import list_unmatched_warnings
from airflow_provider_runtime.core.planning.check.unseen import list_unseen_warnings
from airflow_provider_runtime.core.planning.check.warning import make_warning
from airflow_provider_runtime.core.suggest import list_names

_SILENCED = re.compile(r"#\s*ok:\s*(WARN_\d{3}(?:\s*,\s*WARN_\d{3})*)\b")
_ORIGIN = (None, "_operation_seq")


def list_project_warnings(checked: CheckedProject) -> list[Problem]:
    """Return the warnings of a project that has no errors; where there are errors, these come first."""
    if not checked.ok or checked.input is None:
        return []
    found = [
        *_list_doubled_rows(checked),
        *list_unmatched_warnings(checked),
        *_list_unused_names(checked),
        *list_condition_warnings(checked),
        *list_unseen_warnings(checked),
        *_list_missing_keys(checked),
    ]
    return list(drop_silenced(checked.definition, found))


def list_catalog_warnings(catalog: Catalog, projects: Iterable[CheckedProject]) -> list[Problem]:
    """Return the warnings of datasets that no project of the catalog uses, wholly or one of their lookups."""
    checked = list(projects)
    if not catalog.projects or catalog.broken or not all(project.ok for project in checked):
        return []
    used = _list_used_datasets(catalog)
    used_lookups = {
        (project.input.dataset.model.id, join.alias)
        for project in checked
        if project.input is not None
        for operation in project.operations
        for join in operation.joins
    }
    inputs = {project.input.dataset.model.id for project in checked if project.input is not None}
    found: list[Problem] = []
    for definition in _list_latest(catalog):
        warnings = []
        if definition.model.id not in used:
            message = f"dataset '{definition.model.name}' is not used by any project"
            warnings.append(make_warning("WARN_003", message, "remove it, or disable it", definition, ("id",)))
        elif definition.model.id in inputs:
            warnings += _list_unused_lookups(definition, used_lookups)
        found += drop_silenced(definition, warnings)
    return found


def _list_used_datasets(catalog: Catalog) -> set[str]:
    """Return the ids of datasets that projects, or lookups of datasets, refer to."""
    references = {ref for project in catalog.projects.values() for ref in list_project_references(project.model)}
    references |= {ref for dataset in catalog.datasets.values() for ref in list_lookup_references(dataset.model)}
    return {found.model.id for reference in references for found in catalog.list_dataset_versions(reference)}


def _list_latest(catalog: Catalog) -> Iterator[Definition[Dataset]]:
    for identifier in dict.fromkeys(identifier for identifier, _ in catalog.datasets):
        latest = catalog.find_dataset(identifier)
        if latest is not None and latest.model.status == "active":
            yield latest


def _list_unused_lookups(definition: Definition[Dataset], used: set[tuple[str, str]]) -> Iterator[Problem]:
    for index, lookup in enumerate(definition.model.lookups):
        if (definition.model.id, lookup.alias) not in used:
            message = f"lookup '{lookup.alias}' is not used by any project"
            yield make_warning("WARN_003", message, "remove it", definition, ("lookups", index, "alias"))


def _list_doubled_rows(checked: CheckedProject) -> Iterator[Problem]:
    """Yield operations that take the rows of earlier aggregates as well, without saying so."""
    summaries: list[CheckedOperation] = []
    for operation in checked.operations:
        model = operation.operation
        says_which = getattr(model, "from_", None) is not None or _names_origin(operation)
        if model.type == "delete" and (operation.where is None or says_which):
            summaries = []
        verb = _name_use(operation)
        if verb is not None and summaries and not says_which:
            seqs = list_names(str(found.seq) for found in summaries)
            message = f"{model.type} {operation.seq} {verb} the summary rows of operation {seqs} as well"
            hint = f"say which rows are meant: from: loaded, from: [{seqs}], or from: all"
            if model.type == "update":
                hint = "say which rows are meant: selector: _operation_seq = 0"
            yield make_warning("WARN_001", message, hint, checked.definition, ("operations", operation.index, "type"))
        if model.type == "aggregate":
            summaries.append(operation)


def _name_use(operation: CheckedOperation) -> str | None:
    """Return what an operation does with rows that it looks at together; None where each row stands alone."""
    if operation.expand is not None:
        return "pairs"
    if any(has_window(item.checked.node) for item in operation.expressions):
        return "looks at"
    return {"aggregate": "sums up", "output": "writes"}.get(operation.operation.type)


def _names_origin(operation: CheckedOperation) -> bool:
    return operation.where is not None and _ORIGIN in operation.where.columns


def _list_unused_names(checked: CheckedProject) -> Iterator[Problem]:
    """Yield joins that no expression uses, and named selectors that no condition uses."""
    for operation in checked.operations:
        if isinstance(operation.operation, UpdateOperation):
            yield from _list_unused_joins(checked, operation, operation.operation)
    used = {name for found in _list_conditions(checked) for name in found}
    for name in checked.definition.model.selectors:
        if name not in used:
            message = f"selector '{name}' is not used by any operation"
            yield make_warning("WARN_003", message, "remove it", checked.definition, ("selectors", name))


def _list_conditions(checked: CheckedProject) -> Iterator[frozenset[str]]:
    for operation in checked.operations:
        for condition in (operation.where, operation.source_where):
            if condition is not None:
                yield condition.selectors
    for check in checked.checks:
        for condition in (check.where, *(value.where for value in check.values)):
            if condition is not None:
                yield condition.selectors


def _list_unused_joins(
    checked: CheckedProject, operation: CheckedOperation, model: UpdateOperation
) -> Iterator[Problem]:
    read = {alias for item in operation.expressions for alias in item.checked.aliases}
    read |= operation.where.aliases if operation.where is not None else frozenset()
    conditions = {join.alias: join.condition for join in operation.joins}
    for position, join in reversed(list(enumerate(model.arguments.joins))):
        is_used = join.alias in read or join.required
        if is_used and join.alias in conditions:
            # Joins are walked backwards: what a used one asks for is used as well.
            read |= conditions[join.alias].aliases
        elif not is_used:
            path = ("operations", operation.index, "arguments", "joins", position, "alias")
            message = f"join '{join.alias}' is not used by the selector or an assignment"
            yield make_warning("WARN_003", message, "remove it", checked.definition, path)


def _list_missing_keys(checked: CheckedProject) -> Iterator[Problem]:
    """Yield outputs without a business key whose rows are registered, or compared with what was published."""
    is_compared = checked.definition.model.publication.compare
    for operation in checked.operations:
        model = operation.operation
        if not isinstance(model, OutputOperation) or operation.key:
            continue
        registers = model.arguments.register_as_dataset is not None
        if registers or is_compared:
            what = "registers a dataset" if registers else "is compared with what was published"
            message = f"output {operation.seq} {what} and has no key"
            hint = "name the columns that identify a row, such as key: [id]; then duplicate rows are found"
            keys = ["register_as_dataset"] if registers else []
            path: Path = ("operations", operation.index, "arguments", *keys)
            yield make_warning("WARN_006", message, hint, checked.definition, path)


def drop_silenced(definition: Definition[Model], warnings: Iterable[Problem]) -> Iterator[Problem]:
    """Leave out warnings that a comment silences, on their line or in the comment lines right above it."""
    text = definition.source.source
    for warning in warnings:
        lines = [text.read_line(warning.location.line)]
        number = warning.location.line - 1
        while number > 0 and text.read_line(number).lstrip().startswith("#"):
            lines.append(text.read_line(number))
            number -= 1
        silenced = {code for line in lines for match in _SILENCED.finditer(line) for code in match[1].split(",")}
        if warning.code not in {code.strip() for code in silenced}:
            yield warning

"""Which resolver finds a dataset's data: the project's override, else the dataset's own, else the system's default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.rules_dataset import is_unknown_resolver
from airflow_provider_runtime.core.errors import Place, Problem, ResolveError
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID, Resolver
from airflow_provider_runtime.core.suggest import suggest

ResolverSource = Literal["project_override", "dataset_resolver", "system_default"]


@dataclass(frozen=True, slots=True)
class ResolverChoice:
    """The resolver of a dataset, and why it is this one; a built-in one has no definition."""

    id: str
    version: int
    source: ResolverSource
    definition: Definition[Resolver] | None = None

    @property
    def description(self) -> str:
        """The choice in words."""
        return f"{self.id} version {self.version} ({self.source})"


def choose_resolver(catalog: Catalog, project: Definition[Project], dataset: Dataset, place: Place) -> ResolverChoice:
    """Return the dataset's resolver in its highest active version, or raise RESOLVE_001 or RESOLVE_002."""
    override = _find_override(project, dataset)
    if override is not None:
        where = project.locate("resolver_overrides", override)
        return _get_resolver(catalog, project.model.resolver_overrides[override], "project_override", where)
    if dataset.resolver_id is not None:
        return _get_resolver(catalog, dataset.resolver_id, "dataset_resolver", place)
    default = catalog.default_resolver()
    if default is not None:
        return ResolverChoice(default.model.id, default.model.version, "system_default", default)
    raise ResolveError(_report_none(catalog, dataset, place))


def is_reported_by_catalog(catalog: Catalog, project: Definition[Project], dataset: Dataset) -> bool:
    """Whether the catalog's rules have reported why there is no resolver: unknown, or a document with errors."""
    override = _find_override(project, dataset)
    identifier = dataset.resolver_id if override is None else project.model.resolver_overrides[override]
    if identifier is None:
        return any(kind == "resolver" for kind, _ in catalog.broken)
    return catalog.is_broken("resolver", identifier) or is_unknown_resolver(catalog, identifier)


def _find_override(project: Definition[Project], dataset: Dataset) -> str | None:
    return next((key for key in (dataset.id, dataset.name) if key in project.model.resolver_overrides), None)


def _get_resolver(catalog: Catalog, identifier: str, source: ResolverSource, place: Place) -> ResolverChoice:
    found = catalog.find_resolver(identifier)
    if found is not None:
        return ResolverChoice(identifier, found.model.version, source, found)
    if catalog.list_resolver_versions(identifier):
        message = f"resolver '{identifier}' is disabled"
        raise ResolveError(Problem("RESOLVE_002", message, "activate it, or name another resolver", place))
    if identifier == REGISTRY_RESOLVER_ID:
        return ResolverChoice(identifier, 1, source)
    hint = suggest(identifier, sorted({key for key, _ in catalog.resolvers}))
    raise ResolveError(Problem("RESOLVE_001", f"resolver '{identifier}' not found", hint, place))


def _report_none(catalog: Catalog, dataset: Dataset, place: Place) -> Problem:
    name = dataset.name
    disabled = sorted(key for key, found in catalog.resolvers.items() if found.model.is_default)
    if disabled:
        message = f"dataset '{name}' names no resolver, and the default resolver '{disabled[-1][0]}' is disabled"
        return Problem("RESOLVE_002", message, "activate it, or give the dataset a resolver_id", place)
    message = f"no resolver for dataset '{name}': no override in the project, no resolver_id, no default resolver"
    return Problem("RESOLVE_001", message, "give the dataset a resolver_id, or one resolver `is_default: true`", place)

"""Definitions that a run uses: a version that was published with never changes its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import Resolver
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.registry.ports import Registry
from spark_jobs.contract.plan import UsedDefinition


def find_used_definitions(
    catalog: Catalog, checked: CheckedProject, resolvers: Iterable[Definition[Resolver]]
) -> dict[UsedDefinition, Place]:
    """Return the versioned definitions that a project's run uses, and where they are.

    A draft's run uses none: neither it nor what it is tried out on is settled. Registered datasets are not ours:
    `catalog` is the one without the registry's versions.
    """
    if checked.definition.model.status == "draft":
        return {}
    datasets = [use.dataset for use in checked.tables if catalog.list_dataset_versions(use.dataset.model.id)]
    used: list[Definition[Project] | Definition[Dataset] | Definition[Resolver]]
    used = [checked.definition, *datasets, *resolvers]
    found = {UsedDefinition(d.kind, d.model.id, d.model.version, d.digest): d.locate("version") for d in used}
    return dict(sorted(found.items(), key=lambda item: (item[0].kind, item[0].id, item[0].version)))


def list_changed(registry: Registry | None, definitions: Mapping[UsedDefinition, Place]) -> list[Problem]:
    """Return a CATALOG_005 at each definition that a run has used with other content."""
    if registry is None or not registry.check_definitions(tuple(definitions)):
        return []
    return [
        replace(problem, location=place)
        for definition, place in definitions.items()
        for problem in registry.check_definitions((definition,))
    ]

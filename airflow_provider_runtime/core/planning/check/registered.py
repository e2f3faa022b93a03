"""Registered datasets: the schema that an output gives one, and the versions that the registry knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.needs import (
    list_lookup_references,
    list_project_references,
    walk_references,
)
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.model.schema import NULL, Column
from airflow_provider_runtime.core.planning.check.checked import CheckedProject, WorkingColumn
from airflow_provider_runtime.core.registry.ports import DatasetVersion, Registry

REGISTRY_FILE = "<registry>"
"""The place of definitions that the registry keeps."""


def infer_output_schema(checked: CheckedProject, seq: int) -> Dataset | None:
    """Return the dataset, as its first version, that the output with this seq registers.

    None when it registers none, or when mistakes keep some of its columns away.
    """
    operation = next((found for found in checked.operations if found.seq == seq), None)
    if operation is None or operation.registered_dataset is None or operation.is_incomplete:
        return None
    columns = tuple(
        _declare(column) for column in operation.output_columns if column.origin != "system" and column.type != NULL
    )
    if not columns:
        return None
    name = operation.registered_dataset
    return Dataset(
        id=registered_dataset_id(name),
        name=name,
        version=1,
        resolver_id=REGISTRY_RESOLVER_ID,
        main_table=Table(name=make_table_name(name), temporal_mode="period", columns=columns),
    )


def make_table_name(name: str) -> str:
    """Return the main table's name of a registered dataset: characters that a name may not have become `_`."""
    replaced = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{replaced}" if replaced[:1].isdigit() else replaced


def find_registered_name(catalog: Catalog, registry: Registry | None, table: str) -> str | None:
    """Return the registered dataset whose table has this name; None when there is none, or more than one."""
    names = {entry.name for entry in catalog.registrations}
    names |= {entry.name for entry in registry.list_datasets()} if registry is not None else set()
    found = [name for name in names if make_table_name(name) == table]
    return table if table in found else found[0] if len(found) == 1 else None


def _declare(column: WorkingColumn) -> Column:
    kind = column.type.kind
    assert kind != "null"
    if kind == "decimal":
        return Column(
            name=column.name,
            type=kind,
            precision=column.type.precision,
            scale=column.type.scale,
            nullable=column.nullable,
        )
    return Column(name=column.name, type=kind, nullable=column.nullable)


def add_registered_versions(
    catalog: Catalog, projects: Iterable[Definition[Project]], registry: Registry | None
) -> Catalog:
    """Return the catalog with the registry's versions of the registered datasets that projects read."""
    if registry is None:
        return catalog
    found: dict[str, list[Definition[Dataset]]] = {}

    def follow(reference: str) -> Iterator[str]:
        known = list(catalog.list_dataset_versions(reference))
        found[reference] = known or list(_read_versions(registry.list_versions(reference)))
        for definition in found[reference]:
            yield from list_lookup_references(definition.model)

    for _ in walk_references((name for project in projects for name in list_project_references(project.model)), follow):
        pass
    return catalog.with_datasets(d for definitions in found.values() for d in definitions if d.file == REGISTRY_FILE)


def _read_versions(entries: Iterable[DatasetVersion]) -> Iterator[Definition[Dataset]]:
    """Yield the definitions of versions, most of which differ in their number only."""
    last: tuple[Mapping[str, Any], Dataset] | None = None
    for entry in entries:
        content = {**entry.definition, "version": 1}
        if last is None or last[0] != content:
            last = content, Dataset.model_validate_json(json.dumps(content))
        model = last[1].model_copy(update={"version": entry.version})
        yield Definition.from_model("dataset", model, REGISTRY_FILE)

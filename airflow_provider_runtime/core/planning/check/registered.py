"""The dataset that an output registers, with the schema that the plan gives it."""

from __future__ import annotations

import re

from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.model.schema import NULL, Column
from airflow_provider_runtime.core.planning.check.checked import CheckedProject, WorkingColumn


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
    """Return the main table's name of a registered dataset: characters that are none of a name become `_`."""
    replaced = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{replaced}" if replaced[:1].isdigit() else replaced


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

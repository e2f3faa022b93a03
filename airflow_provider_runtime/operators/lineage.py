"""What a run reads and writes, column by column, from its compiled plan; told to OpenLineage where it is installed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from airflow_provider_runtime.hooks.storage import AirflowStorage

Plan = Mapping[str, Any]
_REFERENCE = re.compile(r"`(@w|@@[^`]+)`\.`([^`]+)`")
_WORKING = "@w"


@dataclass(frozen=True, order=True)
class SourceColumn:
    """A column of a dataset that is read."""

    namespace: str
    dataset: str
    column: str


@dataclass
class DatasetLineage:
    """A dataset with its schema and, for one that is written, where its columns come from."""

    namespace: str
    name: str
    schema: list[tuple[str, str]]
    columns: dict[str, set[SourceColumn]] = field(default_factory=dict)
    rows: int | None = None


@dataclass
class PlanLineage:
    """Everything that a run reads and writes."""

    inputs: list[DatasetLineage]
    outputs: list[DatasetLineage]


def read_plan(snapshot_uri: str) -> Plan:
    """Return the plan of a snapshot."""
    plan: Plan = json.loads(AirflowStorage().read_bytes(snapshot_uri))["plan"]
    return plan


def trace_plan(plan: Plan, report: Mapping[str, Any] | None = None) -> PlanLineage:
    """Follow every column through the operations of a plan."""
    tables = {key: _list_inputs(table) for key, table in plan["tables"].items()}
    working = _trace_table(plan["tables"][plan["input"]])
    rows = {output["seq"]: output["rows"] for output in (report or {}).get("outputs", ())}
    outputs = []
    for operation in plan["operations"]:
        if operation["type"] == "output":
            outputs.append(_trace_output(operation, working, rows.get(operation["seq"])))
        else:
            _apply(operation, plan, working)
    return PlanLineage([dataset for found in tables.values() for dataset in found], outputs)


def _list_inputs(table: Mapping[str, Any]) -> list[DatasetLineage]:
    schema = [(column["name"], column["type"]) for column in table["columns"]]
    names = dict.fromkeys(_name_location(location) for location in table["locations"])
    return [DatasetLineage(namespace, name, schema) for namespace, name in names]


def _trace_table(table: Mapping[str, Any]) -> dict[str, set[SourceColumn]]:
    names = dict.fromkeys(_name_location(location) for location in table["locations"])
    return {
        column["name"]: {SourceColumn(namespace, name, column["name"]) for namespace, name in names}
        for column in table["columns"]
    }


def _apply(operation: Mapping[str, Any], plan: Plan, working: dict[str, set[SourceColumn]]) -> None:
    aliases = {join["alias"]: _trace_table(plan["tables"][join["table"]]) for join in operation.get("joins", ())}
    filled = [*operation.get("assignments", ()), *operation.get("aggregations", ())]
    rows = working
    if operation["type"] == "append":
        rows = _trace_table(plan["tables"][operation["source"]])
        for item in operation.get("aggregations", ()):
            rows[item["column"]] = _find_sources(item["sql"], dict(rows), {})
        filled = list(operation["columns"])
    found = {item["column"]: _find_sources(item["sql"], rows, aliases) for item in filled}
    for column, sources in found.items():
        working[column] = working.get(column, set()) | sources


def _find_sources(
    sql: str, working: Mapping[str, set[SourceColumn]], aliases: Mapping[str, Mapping[str, set[SourceColumn]]]
) -> set[SourceColumn]:
    found: set[SourceColumn] = set()
    for alias, column in _REFERENCE.findall(sql):
        relation = working if alias == _WORKING else aliases.get(alias.removeprefix("@@"), {})
        found |= relation.get(column, set())
    return found


def _trace_output(
    operation: Mapping[str, Any], working: Mapping[str, set[SourceColumn]], rows: int | None
) -> DatasetLineage:
    namespace, name = _name_location(operation["destination"])
    schema = [(column["name"], column["type"]) for column in operation["columns"]]
    columns = {column: set(working.get(column, set())) for column, _ in schema}
    return DatasetLineage(namespace, name, schema, columns, rows)


def _name_location(location: Mapping[str, Any]) -> tuple[str, str]:
    """Return namespace and name as OpenLineage's naming asks for."""
    if location["kind"] == "jdbc":
        parts = urlsplit(str(location.get("uri") or location.get("options", {}).get("url", "")).removeprefix("jdbc:"))
        return f"{parts.scheme}://{parts.hostname or ''}", f"{parts.path.lstrip('/')}.{location.get('table')}"
    parts = urlsplit(str(location.get("uri") or "memory:"))
    namespace = "file" if parts.scheme in {"", "file"} else f"{parts.scheme}://{parts.netloc}"
    return namespace, parts.path or "/"


def make_operator_lineage(plan: Plan, report: Mapping[str, Any] | None = None) -> Any:
    """Return the lineage as OpenLineage's classes, or None when its provider is not installed."""
    try:
        from airflow.providers.openlineage.extractors import OperatorLineage  # type: ignore[import-not-found]
    except ImportError:
        return None
    found = trace_plan(plan, report)
    return OperatorLineage(
        inputs=[_make_dataset(dataset) for dataset in found.inputs],
        outputs=[_make_dataset(dataset) for dataset in found.outputs],
    )


def _make_dataset(dataset: DatasetLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import (
        ColumnLineageDatasetFacet,
        Dataset,
        Fields,
        SchemaDatasetFacet,
        SchemaDatasetFacetFields,
    )

    facets = {"schema": SchemaDatasetFacet([SchemaDatasetFacetFields(name, kind) for name, kind in dataset.schema])}
    if dataset.columns:
        facets["columnLineage"] = ColumnLineageDatasetFacet(
            {column: Fields(_make_fields(sources), "", "") for column, sources in dataset.columns.items() if sources}
        )
    return Dataset(namespace=dataset.namespace, name=dataset.name, facets=facets)


def _make_fields(sources: Iterable[SourceColumn]) -> list[Any]:
    from airflow.providers.common.compat.openlineage.facet import InputField

    return [InputField(source.namespace, source.dataset, source.column) for source in sorted(sources)]

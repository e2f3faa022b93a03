"""What a run reads and writes, column by column, from its compiled plan; sent to OpenLineage where it is installed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.planning.snapshot.plan_lineage import trace_lineage
from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot
from airflow_provider_runtime.hooks.storage import AirflowStorage
from airflow_provider_runtime.timetables.assets import NAMESPACE
from spark_jobs.contract.addresses import unescape_pattern
from spark_jobs.contract.checks import CheckResult
from spark_jobs.contract.operations import Destination, OutputOperation
from spark_jobs.contract.options import get_option
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.report import Report
from spark_jobs.contract.tables import Location, Table

DatasetName = tuple[str, str]
"""Namespace and name of a dataset."""
DEFAULT_PORTS = {"postgres": 5432, "mysql": 3306, "sqlserver": 1433}


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
    checks: tuple[CheckResult, ...] = ()


@dataclass
class PlanLineage:
    """Everything that a run reads and writes."""

    inputs: list[DatasetLineage]
    outputs: list[DatasetLineage]


def read_plan(snapshot_uri: str) -> Plan:
    """Return the plan of a snapshot."""
    return read_snapshot(snapshot_uri, storage=AirflowStorage()).plan


def trace_plan(plan: Plan, report: Report | None = None) -> PlanLineage:
    """Return what a run reads and writes, by the plan's column lineage."""
    names = {key: _list_names(plan, key) for key in plan.tables}
    inputs = [_make_input(plan.tables[key], name) for key, found in names.items() for name in found]
    lineage = {found.seq: found for found in trace_lineage(plan.input, plan.input_columns, plan.operations)}
    rows = {output.seq: output.rows for output in report.outputs} if report is not None else {}
    checks = report.checks if report is not None else ()
    outputs = []
    for output in plan.outputs:
        columns = {
            column: {SourceColumn(*name, source.column) for source in found.values for name in names[source.table]}
            for column, found in lineage[output.seq].columns.items()
        }
        checked = tuple(result for result in checks if result.output == output.seq)
        outputs += _make_outputs(output, columns, rows.get(output.seq), checked)
    return PlanLineage(inputs, outputs)


def _list_names(plan: Plan, key: str) -> list[DatasetName]:
    """Return the datasets that a table is read from; a registered one is one dataset, whatever its slices."""
    choice = plan.settings.trace.get(key)
    if choice is not None and choice.resolver_id == REGISTRY_RESOLVER_ID:
        return [(NAMESPACE, choice.dataset)]
    return list(dict.fromkeys(_name_location(location) for location in plan.tables[key].locations))


def _make_input(table: Table, name: DatasetName) -> DatasetLineage:
    return DatasetLineage(*name, [(column.name, column.type) for column in table.columns])


def _make_outputs(
    operation: OutputOperation,
    columns: dict[str, set[SourceColumn]],
    rows: int | None,
    checks: tuple[CheckResult, ...],
) -> list[DatasetLineage]:
    """Return what an output writes: its destination, and the registered dataset that other projects read."""
    names = [_name_location(operation.destination)]
    if operation.slice is not None:
        names.append((NAMESPACE, operation.slice.dataset_name))
    schema = [(column.name, column.type) for column in operation.columns]
    return [DatasetLineage(*name, schema, columns, rows, checks) for name in names]


def _name_location(location: Location | Destination) -> DatasetName:
    """Return namespace and name as OpenLineage's naming asks for."""
    if location.kind == "jdbc":
        parts = urlsplit((get_option(location.options, "url") or "").removeprefix("jdbc:"))
        scheme = "postgres" if parts.scheme == "postgresql" else parts.scheme
        port = parts.port or DEFAULT_PORTS.get(scheme)
        host = f"{parts.hostname or ''}:{port}" if port else parts.hostname or ""
        return f"{scheme}://{host}", f"{parts.path.lstrip('/')}.{location.table}"
    if location.kind == "table" and location.format == "iceberg":
        return "iceberg", str(location.table)
    # Where the files of a version are may change with the next one; the folder of a Delta table stays.
    folder = location.table if location.kind == "table" and location.table else location.uri
    parts = urlsplit(unescape_pattern(folder or "memory:"))
    namespace = "file" if parts.scheme in {"", "file"} else f"{parts.scheme}://{parts.netloc}"
    return namespace, parts.path or "/"


def make_operator_lineage(plan: Plan, report: Report | None = None) -> Any:
    """Return the lineage as OpenLineage's classes, or None when its provider is not installed."""
    try:
        from airflow.providers.openlineage.extractors import OperatorLineage
    except ImportError:
        return None
    found = trace_plan(plan, report)
    return OperatorLineage(
        inputs=[_make_input_dataset(dataset) for dataset in found.inputs],
        outputs=[_make_output_dataset(dataset) for dataset in found.outputs],
    )


def _make_input_dataset(dataset: DatasetLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import InputDataset

    return InputDataset(dataset.namespace, dataset.name, facets={"schema": _make_schema(dataset)})


def _make_output_dataset(dataset: DatasetLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import (
        ColumnLineageDatasetFacet,
        Fields,
        OutputDataset,
        OutputStatisticsOutputDatasetFacet,
    )

    fields = {column: Fields(_make_fields(sources)) for column, sources in dataset.columns.items() if sources}
    facets: dict[str, Any] = {"schema": _make_schema(dataset), "columnLineage": ColumnLineageDatasetFacet(fields)}
    if dataset.checks:
        facets["dataQualityAssertions"] = _make_assertions(dataset.checks)
    counted: dict[str, Any] = (
        {} if dataset.rows is None else {"outputStatistics": OutputStatisticsOutputDatasetFacet(dataset.rows)}
    )
    return OutputDataset(dataset.namespace, dataset.name, facets=facets, outputFacets=counted)


def _make_assertions(checks: Iterable[CheckResult]) -> Any:
    """Return results as assertions; what is only recorded asserts nothing."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality

    # Versions of the client differ in what an assertion may hold.
    known = set(quality.Assertion.__annotations__)
    assertions: list[Any] = []
    for result in checks:
        if result.status in ("recorded", "no_baseline"):
            continue
        severity = "error" if result.on_fail == "block" else "warn"
        values = {"name": result.name, "severity": severity, "expected": result.expected, "actual": result.value}
        assertion = result.kind if "name" in known else result.name
        kept: dict[str, Any] = {name: value for name, value in values.items() if name in known and value is not None}
        assertions.append(quality.Assertion(assertion, result.status == "passed", **kept))
    return quality.DataQualityAssertionsDatasetFacet(assertions)


def _make_schema(dataset: DatasetLineage) -> Any:
    from airflow.providers.common.compat.openlineage.facet import SchemaDatasetFacet, SchemaDatasetFacetFields

    return SchemaDatasetFacet([SchemaDatasetFacetFields(name, kind) for name, kind in dataset.schema])


def _make_fields(sources: Iterable[SourceColumn]) -> list[Any]:
    from airflow.providers.common.compat.openlineage.facet import InputField

    return [InputField(source.namespace, source.dataset, source.column) for source in sorted(sources)]

"""A small catalog to resolve, whose resolver rules a test writes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_runtime.core.catalog.loader import LoadResult, load_texts
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.table_chooser import Locate
from airflow_provider_runtime.core.registry.ports import Registry
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Location

ROOT = Path("/catalog")
NOW = datetime(2026, 2, 1, tzinfo=UTC)
OPTIONS = ResolveOptions(run_timestamp=NOW, run_id="6f1c0a52-8a43-4a0a-9d7e-0c5b8a6f2d11", slice_store="/slices")
MONTHLY = '{name: monthly, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{YYYY}}-{{MM}}.parquet"}}'

PLACES = """
datasource: {id: lake, type: parquet, path_prefix: data/lake, options: {mergeSchema: "false"}}
---
datasource: {id: dwh, type: jdbc, options: {url: "jdbc:postgresql://db/dwh", schema: finance}, credential_ref: "airflow://dwh"}
---
datasource: {id: closed, type: parquet, path_prefix: old, status: disabled}
---
datasource: {id: sandbox, type: parquet, path_prefix: sandbox}
"""
DATASETS = """
dataset:
  id: gl
  name: GL
  version: 1
  main_table: &transactions
    name: transactions
    temporal_mode: period
    columns:
      - {name: journal_id, type: string}
      - {name: currency, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: gl
  name: GL
  version: 3
  main_table:
    name: transactions
    temporal_mode: period
    columns:
      - {name: journal_id, type: string}
      - {name: currency, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
  lookups:
    - alias: accounts
      target: {type: table, name: accounts, columns: [{name: code, type: string}]}
      join_conditions: [{source_column: journal_id, target_column: code}]
    - alias: people
      target: {type: dataset, id: staff}
      join_conditions: [{source_column: journal_id, target_column: code}]
---
dataset:
  id: fx
  name: FX rates
  version: 1
  main_table:
    name: rates
    temporal_mode: bitemporal
    columns: [{name: code, type: string}, {name: rate, type: decimal}]
---
dataset:
  id: fx
  name: FX rates
  version: 2
  main_table:
    name: rates
    temporal_mode: bitemporal
    columns: [{name: code, type: string}, {name: rate, type: decimal}]
---
dataset:
  id: staff
  name: Staff
  version: 1
  main_table: {name: staff, columns: [{name: code, type: string}, {name: title, type: string}]}
"""
CONVERT = """
    - seq: 10
      name: convert
      type: update
      arguments:
        joins: [{alias: fx, dataset_id: FX rates, on: 'currency = fx.code'}]
        assignments: [{column: converted, expression: 'amount * fx.rate'}]
"""
OUTPUT = """
    - seq: 90
      name: write
      type: output
      arguments: {destination: {datasource_id: lake, path: out/gl}, register_as_dataset: Converted GL}
"""


def write_project(operations: str = CONVERT + OUTPUT, **changes: str) -> str:
    """A project on the ledger; `changes` are further keys."""
    keys = {"id": "p1", "name": "conversion", "version": "1", "input_dataset_id": "gl", **changes}
    head = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    return f"project:\n{head}  operations:\n{operations}"


def write_resolver(*rules: str, identifier: str = "lake-resolver", **changes: str) -> str:
    """A resolver with these rules, the default one unless `changes` say otherwise."""
    keys = {"id": identifier, "version": "1", "is_default": "true", **changes}
    head = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    listed = "".join(f"    - {rule}\n" for rule in rules)
    return f"resolver:\n{head}" + (f"  rules:\n{listed}" if rules else "")


def load(*documents: str, root: Path = ROOT) -> LoadResult:
    """Load documents as one catalog."""
    texts = {f"{position}.yaml": text for position, text in enumerate((PLACES, DATASETS, *documents))}
    return load_texts(texts, root)


def resolve(
    *documents: str,
    period: str = "2026-01",
    options: ResolveOptions = OPTIONS,
    registry: Registry | None = None,
    locate: Locate | None = None,
    project: str = "conversion",
) -> Snapshot:
    """Resolve the project of these documents."""
    return build_snapshot(load(*documents), project, period, options, registry=registry, locate=locate)


def list_problems(*documents: str, **arguments: object) -> tuple[Problem, ...]:
    """Return the problems that resolving raises."""
    try:
        resolve(*documents, **arguments)  # type: ignore[arg-type]
    except RuntimeProviderError as error:
        return error.problems
    raise AssertionError("nothing was raised")


def list_locations(snapshot: Snapshot, table: str = "input") -> list[Location]:
    """Return the locations of a table of the plan."""
    return [*snapshot.plan.tables[table].locations]

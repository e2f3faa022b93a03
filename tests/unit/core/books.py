"""Books of three projects: a catalog, files, and a registry of runs that are recorded without Spark."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from airflow_provider_runtime.core.planning.stale.making import make_plan
from airflow_provider_runtime.core.planning.stale.plan import Plan, Scope
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Attempt, SliceWrite
from airflow_provider_runtime.core.runs.begin import begin_attempt
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.snapshot import Snapshot

TODAY = date(2026, 4, 15)
CATALOG = """
datasource: {id: lake, type: csv, path_prefix: ../data}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules:
    - {name: rates, when: 'table.name = "rates"', data_level: any,
       strategy: {type: path, datasource_id: lake, path: rates.csv}}
    - {name: monthly, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{YYYY}}-{{MM}}.csv"}}
---
dataset:
  id: sales
  name: Sales
  version: 1
  main_table:
    name: sales
    temporal_mode: period
    columns: [{name: shop, type: string}, {name: currency, type: string},
              {name: amount, type: decimal, precision: 18, scale: 2}]
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    columns: [{name: currency, type: string}, {name: rate, type: decimal, precision: 18, scale: 6}]
---
project:
  id: close
  name: close
  version: 1
  input_dataset_id: sales
  operations:
    - {seq: 10, name: Convert, type: update, arguments: {
        joins: [{alias: fx, dataset_id: rates, on: sales.currency = fx.currency}],
        assignments: [{column: usd, expression: "ROUND(amount * fx.rate, 2)"},
                      {column: name, expression: UPPER(shop)}]}}
    - {seq: 20, name: Publish, type: output, arguments: {
        destination: {datasource_id: lake, table: out/close}, columns: [shop, name, amount, usd],
        register_as_dataset: Monthly Close}}
---
project:
  id: dollars
  name: dollars
  version: 1
  level: quarter
  input_dataset_id: Monthly Close
  operations:
    - {seq: 10, name: Sum, type: aggregate, arguments: {
        group_by: [shop], aggregations: [{column: total, expression: SUM(usd)}]}}
    - {seq: 20, name: Publish, type: output, selector: _operation_seq = 10, arguments: {
        destination: {datasource_id: lake, table: out/dollars}, columns: [shop, total]}}
---
project:
  id: names
  name: names
  version: 1
  input_dataset_id: Monthly Close
  operations:
    - {seq: 10, name: Publish, type: output, arguments: {
        destination: {datasource_id: lake, table: out/names}, columns: [shop, name]}}
"""


@dataclass
class Books:
    """A catalog with data, and a registry of runs that are only recorded."""

    root: Path
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    registered: int = 0

    def write(self, catalog: str = CATALOG) -> None:
        (self.root / "catalog").mkdir(exist_ok=True)
        (self.root / "catalog" / "books.yaml").write_text(catalog, encoding="utf-8")

    def put(self, name: str, content: str) -> None:
        path = self.root / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def plan(self, project: str | None = None, period: str | None = None) -> Plan:
        return make_plan(self.root / "catalog", self.registry, Scope(project, period, TODAY))

    def states(self, **scope: str) -> dict[tuple[str, str], str]:
        return {(e.work.project, e.work.period): e.state for e in self.plan(**scope).entries}

    def reasons(self, project: str, period: str) -> list[tuple[str, tuple[str, ...]]]:
        entry = next(e for e in self.plan().entries if (e.work.project, e.work.period) == (project, period))
        return [(reason.kind, reason.columns) for reason in entry.reasons]

    def resolve(self, project: str, period: str, as_of: date | None = None) -> Snapshot:
        loaded = load_catalog(self.root / "catalog")
        options = ResolveOptions(slice_store=str(self.root / "slices"), as_of=as_of)
        return build_snapshot(loaded, project, period, options, registry=self.registry)

    def begin(self, project: str, period: str, **options: Any) -> Attempt:
        snapshot = self.resolve(project, period)
        uri = write_snapshot(snapshot, str(self.root / "snapshots"))
        return begin_attempt(self.registry, snapshot, snapshot_uri=uri, **options)

    def run(self, project: str, period: str, *, fails: bool = False, as_of: date | None = None) -> None:
        snapshot = self.resolve(project, period, as_of)
        uri = write_snapshot(snapshot, str(self.root / "snapshots"))
        attempt = begin_attempt(self.registry, snapshot, snapshot_uri=uri)
        if fails:
            self.registry.fail_attempt(attempt, {"code": "DATA_003", "message": "bad"})
            return
        sources = [
            {
                "table": table.table,
                "dataset_id": table.dataset_id,
                "version": table.dataset_version,
                "fingerprint": Fingerprints().take(table.locations),
            }
            for table in snapshot.plan.tables.values()
        ]
        writes = [
            self._write_slice(operation, period) for operation in snapshot.plan.operations if _registers(operation)
        ]
        report: dict[str, Any] = {"status": "succeeded", "sources": sources, "outputs": []}
        self.registry.finish_attempt(attempt, writes, report)

    def _write_slice(self, operation: OutputOperation, period: str) -> SliceWrite:
        assert operation.slice is not None
        self.registered += 1
        uri = f"{operation.slice.uri_prefix}/{period}/{self.registered}"
        folder = Path(uri.removeprefix("file://"))
        folder.mkdir(parents=True)
        (folder / "part.parquet").write_text(str(self.registered), encoding="utf-8")
        definition = {
            "id": operation.slice.dataset_id,
            "name": operation.slice.dataset_name,
            "resolver_id": "registry",
            "main_table": {
                "name": "Monthly_Close",
                "temporal_mode": "period",
                "columns": [
                    {"name": "shop", "type": "string"},
                    {"name": "name", "type": "string"},
                    {"name": "amount", "type": "decimal", "precision": 18, "scale": 2},
                    {"name": "usd", "type": "decimal", "precision": 32, "scale": 2},
                ],
            },
        }
        return SliceWrite(
            operation.seq, operation.slice.dataset_id, operation.slice.dataset_name, period, uri, 1, definition
        )


def _registers(operation: object) -> bool:
    return isinstance(operation, OutputOperation) and operation.slice is not None


def publish_books(folder: Path) -> Books:
    """Return books with January to March published, and everything that reads them."""
    made = Books(folder / "books")
    made.root.mkdir()
    made.write()
    made.put("rates.csv", "currency,rate\nEUR,1.1\n")
    for month in ("2026-01", "2026-02", "2026-03"):
        made.put(f"sales/{month}.csv", "shop,currency,amount\nBern,EUR,1.00\n")
        made.run("close", month)
        made.run("names", month)
    made.run("dollars", "2026-Q1")
    shutil.copytree(made.root, made.root.with_name("kept"))
    return made


def restore_books(published: Books) -> Books:
    """Return the books as they were published: under the same path, which snapshots and slices hold."""
    shutil.rmtree(published.root)
    shutil.copytree(published.root.with_name("kept"), published.root)
    return replace(published, registry=published.registry.copy())

"""A folder with a catalog, data, a registry and runs in it, for tests of whole runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.dataset
import yaml
from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.registry.ports import Registry
from spark_jobs.contract.snapshot import Snapshot

TIMESTAMP = datetime(2026, 11, 1, tzinfo=UTC)
SOURCES = """
datasource: {id: lake, type: csv, path_prefix: ../data, options: {header: "true"}}
---
datasource: {id: out, type: parquet, path_prefix: ../out}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{name: by month, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{identifier}}.csv"}}]
---
dataset:
  id: sales
  name: Sales
  version: 1
  main_table:
    name: sales
    temporal_mode: period
    columns:
      - {name: shop, type: string, nullable: false}
      - {name: amount, type: decimal, precision: 18, scale: 2}
"""


def make_output(seq: int, path: str, **arguments: object) -> dict[str, Any]:
    destination = {"datasource_id": "out", "path": path}
    return {
        "seq": seq,
        "name": f"write {path}",
        "type": "output",
        "arguments": {"destination": destination, **arguments},
    }


def make_update(seq: int, joins: Sequence[dict[str, Any]] = (), **assignments: str) -> dict[str, Any]:
    listed = [{"column": column, "expression": expression} for column, expression in assignments.items()]
    arguments: dict[str, Any] = {"assignments": listed}
    if joins:
        arguments["joins"] = list(joins)
    return {"seq": seq, "name": f"update {seq}", "type": "update", "arguments": arguments}


def make_project(name: str, operations: list[dict[str, Any]], **more: object) -> dict[str, Any]:
    project = {"id": name, "name": name, "version": 1, "input_dataset_id": "sales", "operations": operations}
    return {"project": {**project, **more}}


@dataclass
class Workplace:
    """The folder, and the things that happen in it."""

    folder: Path
    registry: Registry
    spark: SparkSession
    url: str
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.write_catalog("sources.yaml", SOURCES)

    def write_catalog(self, name: str, content: str | dict[str, Any] | list[dict[str, Any]]) -> None:
        documents = content if isinstance(content, list) else [content]
        texts = [found if isinstance(found, str) else yaml.safe_dump(found, sort_keys=False) for found in documents]
        path = self.folder / "catalog" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n---\n".join(texts), encoding="utf-8")

    def write_sales(self, period: str, **amounts: str) -> None:
        path = self.folder / "data" / "sales" / f"{period}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("shop,amount\n" + "".join(f"{shop},{amount}\n" for shop, amount in amounts.items()))

    def resolve(self, project: str, period: str, **options: Any) -> Snapshot:
        chosen = {"run_timestamp": TIMESTAMP, "slice_store": str(self.folder / "slices"), **options}
        loaded = load_catalog(self.folder / "catalog")
        return build_snapshot(loaded, project, period, ResolveOptions(**chosen), registry=self.registry)

    def execute(self, snapshot: Snapshot) -> RunResult:
        uri = write_snapshot(snapshot, str(self.folder / "snapshots"))
        return LocalRunner(self.registry, lambda: self.spark, self.said.append).execute(snapshot, uri)

    def run(self, project: str, period: str, **options: Any) -> RunResult:
        result = self.execute(self.resolve(project, period, **options))
        assert result.succeeded, result.problems
        return result

    def read(self, path: str, *columns: str) -> list[tuple[object, ...]]:
        """Read an output as any Parquet reader does."""
        found = pyarrow.dataset.dataset(self.folder / "out" / path, format="parquet", partitioning="hive")
        rows = found.to_table(columns=list(columns)).to_pylist()
        return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


def money(text: str) -> Decimal:
    assert re.fullmatch(r"-?\d+\.\d\d", text)
    return Decimal(text)

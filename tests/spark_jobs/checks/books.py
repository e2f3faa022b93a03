"""A ledger, a project with checks that publishes it twice, and a registry that remembers its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from spark_jobs.contract.snapshot import Snapshot
from tests.datasets import MONEY, define_dataset

SOURCES = """
datasource: {id: lake, type: csv, path_prefix: ../data, options: {header: "true"}}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules:
    - {name: monthly, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{identifier}}.csv"}}
"""
DOUBLE = "{seq: 10, name: Double, type: update, arguments: {assignments: [{column: doubled, expression: amount * 2}]}}"
LINES = "{seq: 20, name: Lines, type: output, arguments: {destination: {datasource_id: out, path: lines}}}"
LINES_BY_KEY = LINES.replace("path: lines}", "path: lines}, key: [journal]")
COPY = "{seq: 30, name: Copy, type: output, arguments: {destination: {datasource_id: out, path: copy}}}"
HEAD = "journal,currency,amount\n"
RIGHT = "J1,EUR,10.00\nJ2,USD,5.50\nJ3,,-1.25\n"


@dataclass
class Books:
    """A catalog with one project, its data, and a registry that remembers."""

    spark: SparkSession
    folder: Path
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    lines: list[str] = field(default_factory=list)
    version: int = 0

    def define(
        self,
        *checks: str,
        operations: Sequence[str] = (DOUBLE, LINES),
        format: str = "parquet",
        more: str = "",
        dataset: str = "",
    ) -> None:
        """Write the next version of the project: operations and the output `COPY`, each check a line of YAML."""
        self.version += 1
        head = f"project:\n  id: close\n  name: close\n  version: {self.version}\n  input_dataset_id: ledger\n{more}\n"
        listed = "".join(f"    - {operation}\n" for operation in (*operations, COPY))
        project = f"{head}  operations:\n{listed}  checks:\n" + "".join(f"    - {check}\n" for check in checks)
        out = f"datasource: {{id: out, type: {format}, path_prefix: ../out}}"
        ledger = define_dataset("ledger", journal="string", currency="string", amount=MONEY)
        documents = [SOURCES, out, ledger, project, *([dataset] if dataset else [])]
        (self.folder / "catalog").mkdir(exist_ok=True)
        (self.folder / "catalog" / "books.yaml").write_text("\n---\n".join(documents))

    def write(self, period: str, rows: str) -> None:
        folder = self.folder / "data" / "ledger"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{period}.csv").write_text(HEAD + rows)

    def resolve(self, period: str = "2026-01") -> Snapshot:
        loaded = load_catalog(self.folder / "catalog")
        return build_snapshot(loaded, "close", period, registry=self.registry)

    def run(self, period: str = "2026-01") -> RunResult:
        runner = LocalRunner(self.registry, lambda: self.spark, self.lines.append, report=self.folder / "report.json")
        return runner.execute(self.resolve(period), f"file://{self.folder}/snapshot.json")

    def list_published(self) -> list[str]:
        return sorted(
            str(path.parent.relative_to(self.folder / "out")) for path in self.folder.glob("out/*/period=*/*")
        )


def get_check(result: RunResult, name: str) -> dict[str, Any]:
    return next(check for check in result.report["checks"] if check["name"] == name)

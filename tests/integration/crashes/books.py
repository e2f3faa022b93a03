"""The books of the crash tests: a ledger in foreign currency, converted, registered, and written to a database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import psycopg
import pyarrow.dataset
import pyarrow.parquet

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.registry.sql import open_registry
from spark_jobs.contract.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JANUARY, FEBRUARY = "2026-01", "2026-02"
REGISTERED = "FX Ledger"
CURRENCIES = {"EUR": "1.0920", "GBP": "1.2710", "JPY": "0.00672", "USD": "1.0000"}
ROWS = 600
PASSWORD = "canary-4711"
CATALOG = """
datasource: {id: files, type: csv, path_prefix: ../data, options: {header: "true"}}
---
datasource: {id: lake, type: parquet, path_prefix: ../lake}
---
datasource: {id: dwh, type: jdbc, options: {url: "%(jdbc_url)s"}, credential_ref: env://WAREHOUSE}
---
resolver:
  id: files
  version: 1
  is_default: true
  rules:
    - name: rates
      when: table.name = "rates"
      data_level: any
      strategy: {type: path, datasource_id: files, path: rates.csv}
    - name: by month
      strategy: {type: path, datasource_id: files, path: "{{table_name}}/{{identifier}}"}
---
dataset:
  id: gl
  name: GL
  version: 1
  main_table:
    name: ledger
    temporal_mode: period
    columns:
      - {name: journal_id, type: string, nullable: false}
      - {name: currency, type: string, nullable: false}
      - {name: amount, type: decimal, precision: 18, scale: 2, nullable: false}
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    columns: [{name: code, type: string}, {name: rate, type: decimal, precision: 18, scale: 6}]
---
project:
  id: fx
  name: fx
  version: 1
  input_dataset_id: gl
  operations:
    - seq: 10
      name: convert
      type: update
      arguments:
        joins: [{alias: fx, dataset_id: rates, on: ledger.currency = fx.code}]
        assignments: [{column: amount_usd, expression: "ROUND(amount * fx.rate, 2)"}]
    - seq: 20
      name: keep
      type: output
      arguments:
        destination: {datasource_id: lake, path: ledger_usd}
        columns: [_row_id, journal_id, currency, amount_usd, _period]
        register_as_dataset: FX Ledger
    - seq: 30
      name: sum
      type: aggregate
      arguments:
        group_by: [currency]
        aggregations: [{column: amount_usd, expression: SUM(amount_usd)}]
    - seq: 40
      name: tell the warehouse
      type: output
      arguments:
        destination: {datasource_id: dwh, table: ledger_usd}
        columns: [_row_id, journal_id, currency, amount_usd, _period]
"""


@dataclass
class Books:
    """A folder with catalog, data, registry and outputs, and a database beside it."""

    folder: Path
    database: str
    registry_url: str
    snapshots: dict[str, tuple[Snapshot, str]] = field(default_factory=dict)
    registry: Registry = field(init=False)

    def __post_init__(self) -> None:
        place = self.database.split("@", 1)[1]
        catalog = self.folder / "catalog"
        catalog.mkdir(parents=True)
        (catalog / "fx.yaml").write_text(CATALOG % {"jdbc_url": f"jdbc:postgresql://{place}"})
        (self.folder / "data").mkdir()
        (self.folder / "data" / "rates.csv").write_text(
            "code,rate\n" + "".join(f"{code},{rate}\n" for code, rate in CURRENCIES.items())
        )
        self.registry = open_registry(self.registry_url)

    def write_ledger(self, period: str, factor: int) -> None:
        """Write two files of journal lines, whose amounts grow with `factor`."""
        folder = self.folder / "data" / "ledger" / period
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(2):
            lines = [
                f"{period}/{line},{list(CURRENCIES)[line % 4]},{line * factor}.{line % 100:02}"
                for line in range(number, ROWS, 2)
            ]
            (folder / f"part-{number}.csv").write_text("journal_id,currency,amount\n" + "\n".join(lines) + "\n")

    def resolve(self, period: str, factor: int) -> tuple[Snapshot, str]:
        """Return the snapshot of a period at one state of its data, and where it is: always the same one."""
        name = f"{period}x{factor}"
        if name not in self.snapshots:
            options = ResolveOptions(
                run_timestamp=datetime(2026, 11, factor, tzinfo=UTC),
                run_id=f"run-{name}",
                slice_store=str(self.folder / "slices"),
            )
            snapshot = build_snapshot(load_catalog(self.folder / "catalog"), "fx", period, options)
            self.snapshots[name] = (snapshot, write_snapshot(snapshot, str(self.folder / "snapshots")))
        return self.snapshots[name]

    def command(self, period: str, factor: int, master: str, conf: dict[str, str]) -> list[str]:
        """Return the command that executes the snapshot of a period."""
        snapshot, uri = self.resolve(period, factor)
        settings = [argument for key, value in conf.items() for argument in ("--conf", f"{key}={value}")]
        chosen = ["--snapshot", uri, "--sha256", snapshot.sha256, "--master", master, "--registry", self.registry_url]
        return [*chosen, "--report", str(self.folder / "report.json"), *settings]

    def start(self, arguments: Sequence[str], program: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start `airflow-runtime run`, or a program in its place, in a process group of its own."""
        chosen = list(program) or [sys.executable, "-m", "airflow_provider_runtime.cli.main", "run"]
        return subprocess.Popen(
            [*chosen, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.make_environment(),
            start_new_session=True,
        )

    def make_environment(self) -> dict[str, str]:
        """Return the environment of a submitting process: the one place of the warehouse's password."""
        credential = json.dumps({"user": "postgres", "password": PASSWORD})
        return {**os.environ, "PYTHONPATH": os.getcwd(), "WAREHOUSE": credential, "PYTHONUNBUFFERED": "1"}

    def run(self, period: str, factor: int, spark: SparkSession) -> None:
        """Execute the snapshot of a period in this process, undisturbed."""
        self.write_ledger(period, factor)
        with patch.dict(os.environ, self.make_environment()):
            result = LocalRunner(self.registry, lambda: spark, lambda line: None).execute(*self.resolve(period, factor))
        assert result.succeeded, result.problems

    def read_lake(self) -> list[dict[str, Any]]:
        """Return the rows that a plain Parquet reader finds below the lake's folder, whatever else is there."""
        return read_parquet(self.folder / "lake")

    def read_warehouse(self) -> list[dict[str, Any]]:
        """Return the rows of the database's table."""
        with self.connect() as connection:
            cursor = connection.execute("SELECT _row_id, journal_id, currency, amount_usd, _period FROM ledger_usd")
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def read_registered(self, number: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of a version of the registered dataset, by default the latest, ordered."""
        version = self.registry.find_version(REGISTERED, number)
        assert version is not None
        return order(row for item in version.slices for row in read_parquet(Path(item.uri.removeprefix("file://"))))

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection to the warehouse."""
        return psycopg.connect(self.database.replace("+psycopg", ""), autocommit=True)

    def read_all(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows at every place, ordered."""
        return {
            "lake": order(self.read_lake()),
            "warehouse": order(self.read_warehouse()),
            "registered": self.read_registered(),
        }


def order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by period and id."""
    return sorted(rows, key=lambda row: (row["_period"], row["_row_id"]))


def read_parquet(folder: Path) -> list[dict[str, Any]]:
    """Read a folder as any Parquet reader does."""
    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(folder, format="parquet").to_table().to_pylist()
    return rows


def sum_january(rows: Sequence[dict[str, Any]]) -> Decimal:
    """Return the control total of January's journal lines."""
    return sum((row["amount_usd"] for row in rows if row["_period"] == JANUARY and row["journal_id"]), Decimal(0))

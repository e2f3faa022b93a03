"""States and reasons: every change to definitions or data makes stale what depends on it, and nothing else."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.planning.stale.files import fingerprint_locations
from airflow_provider_runtime.core.planning.stale.making import check_plan, make_plan
from airflow_provider_runtime.core.planning.stale.plan import Plan, Scope
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import SliceWrite
from airflow_provider_runtime.core.runs.begin import begin_attempt
from spark_jobs.contract.plan import OutputOperation

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
    """A catalog with data, and a registry of runs that are only told of."""

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

    def run(self, project: str, period: str, *, fails: bool = False) -> None:
        loaded = load_catalog(self.root / "catalog")
        options = ResolveOptions(slice_store=str(self.root / "slices"))
        snapshot = build_snapshot(loaded, project, period, options, registry=self.registry)
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
                "fingerprint": fingerprint_locations(table.locations),
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
                    {"name": "usd", "type": "decimal", "precision": 38, "scale": 2},
                ],
            },
        }
        return SliceWrite(
            operation.seq, operation.slice.dataset_id, operation.slice.dataset_name, period, uri, 1, definition
        )


def _registers(operation: object) -> bool:
    return isinstance(operation, OutputOperation) and operation.slice is not None


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """January to March published, and everything that reads them."""
    made = Books(tmp_path_factory.mktemp("published") / "books")
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


@pytest.fixture
def books(published: Books) -> Books:
    """The published books, as they were: under the same path, which snapshots and slices hold."""
    shutil.rmtree(published.root)
    shutil.copytree(published.root.with_name("kept"), published.root)
    return replace(published, registry=published.registry.copy())


def change(books: Books, old: str, new: str) -> None:
    assert old in CATALOG
    # A definition that was used gets a new version, and keeps the old one.
    head, project, rest = CATALOG.partition("project:\n  id: close")
    body, separator, others = rest.partition("---\nproject:")
    newer = (project + body).replace("version: 1", "version: 2").replace(old, new)
    books.write(head + project + body + "---\n" + newer + separator + others)


def list_stale(books: Books) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for (project, period), state in books.states().items():
        if state == "stale":
            found.setdefault(project, set()).add(period)
    return found


MONTHS = {"2026-01", "2026-02", "2026-03"}


def test_everything_is_fresh_after_its_run(books: Books) -> None:
    assert set(books.states().values()) == {"fresh"}


def test_period_that_was_never_published_is_missing(books: Books) -> None:
    later = make_plan(books.root / "catalog", books.registry, Scope(today=date(2026, 6, 2)))
    missing = [(e.work.project, e.work.period) for e in later.entries if e.state == "missing"]
    assert sorted(missing) == [("close", "2026-04"), ("close", "2026-05"), ("names", "2026-04"), ("names", "2026-05")]


def test_failed_run_shows_before_what_was_published(books: Books) -> None:
    books.put("sales/2026-02.csv", "shop,currency,amount\nBern,EUR,2.00\n")
    books.run("close", "2026-02", fails=True)
    assert books.states()["close", "2026-02"] == "failed"


def test_late_file_makes_its_month_stale_and_what_reads_it(books: Books) -> None:
    books.put("sales/2026-02.csv", "shop,currency,amount\nBern,EUR,1.00\nOslo,EUR,2.00\n")
    assert list_stale(books) == {"close": {"2026-02"}, "names": {"2026-02"}, "dollars": {"2026-Q1"}}
    assert books.reasons("close", "2026-02") == [("source", ("shop", "name", "amount", "usd"))]
    assert books.reasons("dollars", "2026-Q1") == [("upstream", ("shop", "total"))]


def test_touched_file_is_another_file(books: Books) -> None:
    os.utime(books.root / "data" / "sales" / "2026-03.csv", (1, 1))
    assert list_stale(books)["close"] == {"2026-03"}


def test_other_rates_reach_only_the_columns_that_are_converted(books: Books) -> None:
    books.put("rates.csv", "currency,rate\nEUR,1.2\n")
    assert list_stale(books) == {"close": MONTHS, "dollars": {"2026-Q1"}}
    assert books.reasons("close", "2026-01") == [("source", ("usd",))]


def test_changed_expression_reaches_only_what_depends_on_its_column(books: Books) -> None:
    change(books, "UPPER(shop)", "LOWER(shop)")
    assert list_stale(books) == {"close": MONTHS, "names": MONTHS}
    assert books.reasons("close", "2026-01") == [("definition", ("name",))]
    assert books.reasons("names", "2026-01") == [("upstream", ("name",))]


def test_new_version_that_computes_the_same_leaves_everything_fresh(books: Books) -> None:
    change(books, "name: Convert", "name: To dollars")
    assert list_stale(books) == {}


def test_run_again_makes_it_fresh_and_its_readers_stale_by_version(books: Books) -> None:
    books.put("sales/2026-02.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    books.run("close", "2026-02")
    assert list_stale(books) == {"names": {"2026-02"}, "dollars": {"2026-Q1"}}
    assert [kind for kind, _ in books.reasons("names", "2026-02")] == ["version"]
    books.run("names", "2026-02")
    books.run("dollars", "2026-Q1")
    assert list_stale(books) == {}


def test_plan_stands_in_run_order(books: Books) -> None:
    books.put("sales/2026-02.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    order = [(entry.work.project, entry.work.period) for entry in books.plan().list_to_run()]
    assert order == [("close", "2026-02"), ("names", "2026-02"), ("dollars", "2026-Q1")]


def test_closed_period_is_shown_and_not_run(books: Books) -> None:
    books.registry.set_period_status("gregorian", "2026-02", "closed", who="ann", reason="done")
    books.put("sales/2026-02.csv", "")
    entry = next(e for e in books.plan(project="close").entries if e.work.period == "2026-02")
    assert (entry.state, entry.status) == ("stale", "closed")
    assert entry.work not in {found.work for found in books.plan().list_to_run()}


def test_scope_of_months_takes_the_quarter_that_they_lie_in(books: Books) -> None:
    assert set(books.states(period="2026-02..2026-03")) == {
        ("close", "2026-02"), ("close", "2026-03"), ("names", "2026-02"), ("names", "2026-03"), ("dollars", "2026-Q1"),
    }  # fmt: skip
    assert set(books.states(project="names", period="2026-01")) == {("names", "2026-01")}


def test_plan_that_has_moved_is_refused(books: Books) -> None:
    document = books.plan(period="2026-02").to_document()
    assert check_plan(document, books.root / "catalog", books.registry).plan_id == document["plan_id"]
    books.put("sales/2026-02.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    with pytest.raises(RuntimeProviderError, match=r"PLAN_001.*close, 2026-02"):
        check_plan(document, books.root / "catalog", books.registry)


def test_unknown_period_is_told(books: Books) -> None:
    with pytest.raises(RuntimeProviderError, match="PERIOD_001"):
        books.plan(period="2026-13")

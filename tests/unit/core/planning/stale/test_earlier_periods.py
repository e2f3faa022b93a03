"""Registered datasets of earlier periods: what a run reads of them, in which order, and what a change makes stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.earlier_periods import list_unpublished
from spark_jobs.contract.tables import Table
from tests.unit.core.books import CATALOG, Books

OPENING = """---
dataset:
  id: opening
  name: Opening
  version: 1
  resolver_id: registry
  period_shift: -1
  on_missing: empty
  main_table: {name: Balance, temporal_mode: period,
               columns: [{name: shop, type: string}, {name: usd, type: decimal, precision: 38, scale: 2}]}
---
dataset:
  id: whole-quarter
  name: Whole quarter
  version: 1
  resolver_id: registry
  requires_all_periods: true
  main_table: {name: Monthly_Close, temporal_mode: period, columns: [{name: shop, type: string}]}
---
project:
  id: roll
  name: roll
  version: 1
  input_dataset_id: sales
  operations:
    - {seq: 10, name: Opening, type: append, arguments: {source: {dataset_id: Opening}, add_columns: true}}
    - {seq: 20, name: Balance, type: aggregate, arguments: {
        group_by: [shop], aggregations: [{column: usd, expression: "SUM(COALESCE(usd, amount))"}]}}
    - {seq: 30, name: Publish, type: output, from: [20], arguments: {
        destination: {datasource_id: lake, table: out/roll}, columns: [shop, usd], register_as_dataset: Balance}}
---
project:
  id: quarter
  name: quarter
  version: 1
  level: quarter
  input_dataset_id: whole-quarter
  operations:
    - {seq: 10, name: Publish, type: output, arguments: {
        destination: {datasource_id: lake, table: out/quarter}, columns: [shop]}}
"""


@pytest.fixture
def books(tmp_path: Path) -> Books:
    books = Books(tmp_path)
    books.write(CATALOG + OPENING)
    books.put("rates.csv", "currency,rate\nEUR,1.1\n")
    for month in ("2026-01", "2026-02", "2026-03"):
        books.put(f"sales/{month}.csv", "shop,currency,amount\nBern,EUR,1.00\n")
    return books


def resolve_opening(books: Books, period: str) -> Table:
    loaded = load_catalog(books.root / "catalog")
    options = ResolveOptions(slice_store=str(books.root / "slices"))
    return build_snapshot(loaded, "roll", period, options, registry=books.registry).plan.tables["append:10"]


def test_first_period_starts_from_nothing_and_the_next_from_its_slice(books: Books) -> None:
    assert resolve_opening(books, "2026-01").locations == ()
    books.run("roll", "2026-01")
    (location,) = resolve_opening(books, "2026-02").locations
    assert location.period == "2026-01"
    assert "/2026-01/" in location.uri
    assert resolve_opening(books, "2026-03").locations == ()


def test_changed_month_makes_the_months_after_it_stale_in_run_order(books: Books) -> None:
    for month in ("2026-01", "2026-02", "2026-03"):
        books.run("roll", month)
    assert {books.states()["roll", month] for month in ("2026-01", "2026-02", "2026-03")} == {"fresh"}
    books.put("sales/2026-01.csv", "shop,currency,amount\nOslo,EUR,2.00\n")

    entries = books.plan(project="roll").list_to_run()

    assert [entry.work.period for entry in entries] == ["2026-01", "2026-02", "2026-03"]
    assert [[reason.kind for reason in entry.reasons] for entry in entries] == [["source"], ["upstream"], ["upstream"]]
    assert [(work.project, work.period) for work in entries[1].depends_on] == [("roll", "2026-01")]


def test_period_is_not_ready_before_the_one_that_it_opens_with(books: Books) -> None:
    catalog = load_catalog(books.root / "catalog").catalog
    project = catalog.find_project("roll")
    assert project is not None
    index = get_project_periods(catalog, project)
    found = list_unpublished(catalog, project, index, index.get_period("2026-02"), books.registry)
    assert [earlier.describe(project) for earlier in found] == ["2026-01"]
    books.run("roll", "2026-01")
    assert list_unpublished(catalog, project, index, index.get_period("2026-02"), books.registry) == []


def test_quarter_of_registered_months_names_those_that_are_missing(books: Books) -> None:
    loaded = load_catalog(books.root / "catalog")
    options = ResolveOptions(slice_store=str(books.root / "slices"))
    books.run("close", "2026-02")
    with pytest.raises(RuntimeProviderError) as caught:
        build_snapshot(loaded, "quarter", "2026-Q1", options, registry=books.registry)
    (problem,) = caught.value.problems
    assert problem.code == "DATA_001"
    assert "2026-01, 2026-03 are missing" in problem.message
    books.run("close", "2026-01")
    books.run("close", "2026-03")
    snapshot = build_snapshot(loaded, "quarter", "2026-Q1", options, registry=books.registry)
    assert [location.period for location in snapshot.plan.tables["input"].locations] == [
        "2026-01",
        "2026-02",
        "2026-03",
    ]


def test_dataset_that_nobody_has_registered_is_named(books: Books) -> None:
    loaded = load_catalog(books.root / "catalog")
    with pytest.raises(RuntimeProviderError) as caught:
        build_snapshot(loaded, "quarter", "2026-Q1", registry=books.registry)
    (problem,) = caught.value.problems
    assert (problem.code, "'Monthly_Close'" in problem.message) == ("DATA_001", True)
    assert "'Monthly Close' first" in (problem.hint or "")

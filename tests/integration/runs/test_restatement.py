"""A month that is restated: the plan says what is stale, the comparison what would change, and nothing else moves."""

from __future__ import annotations

import click
import pytest

from airflow_provider_runtime.cli.diff import stage_and_compare
from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.core.errors import PlanError
from airflow_provider_runtime.core.planning.stale.making import make_plan
from airflow_provider_runtime.core.planning.stale.plan import Scope
from spark_jobs.compare.outputs import CompareRequest
from spark_jobs.contract.comparison import Comparison
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update, money

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture
def books(workplace: Workplace) -> Workplace:
    """`first` registers doubled sales by shop, `reader` reads them; January and February are published."""
    output = make_output(20, "first", columns=["shop", "amount", "double"], key=["shop"], register_as_dataset="Doubled")
    project = make_project("first", [make_update(10, double="amount * 2"), output], publication={"compare": True})
    workplace.write_catalog("first.yaml", project)
    reader = make_project("reader", [make_output(20, "reader", columns=["shop", "double"])], input_dataset_id="Doubled")
    workplace.write_catalog("reader.yaml", reader)
    for period in ("2026-01", "2026-02"):
        workplace.write_sales(period, north="10.00", south="5.00")
        workplace.run("first", period)
        workplace.run("reader", period)
    return workplace


def list_states(books: Workplace) -> dict[tuple[str, str], str]:
    plan = make_plan(books.folder / "catalog", books.registry, Scope(period="2026-01..2026-02"))
    return {(entry.work.project, entry.work.period): entry.state for entry in plan.entries}


def compare(books: Workplace, period: str, *key: str) -> Comparison:
    runner = LocalRunner(books.registry, lambda: books.spark, books.said.append)
    state = books.folder / ".runtime"
    request = CompareRequest(key or None)
    return stage_and_compare(runner, books.registry, books.folder / "catalog", state, "first", period, request)


def test_a_restated_month_is_planned_compared_and_published(books: Workplace) -> None:
    assert set(list_states(books).values()) == {"fresh"}
    books.write_sales("2026-01", north="10.00", south="5.25", west="1.00")
    assert {work for work, state in list_states(books).items() if state == "stale"} == {
        ("first", "2026-01"),
        ("reader", "2026-01"),
    }

    output = compare(books, "2026-01").outputs[0]
    assert (output.key, output.rows_before, output.rows_after) == (("shop",), 2, 3)
    assert (output.added, output.removed, output.changed, output.same) == (1, 0, 1, 1)
    totals = {column.name: (column.total_before, column.total_after, column.difference) for column in output.columns}
    assert totals["double"] == ("30.00", "32.50", "2.50")
    assert ("south", money("10.50")) not in books.read("first", "shop", "double")
    assert list_states(books)["first", "2026-01"] == "stale"

    report = books.run("first", "2026-01").report
    assert report["comparison"]["outputs"][0]["changed"] == 1
    assert {work for work, state in list_states(books).items() if state == "stale"} == {("reader", "2026-01")}
    books.run("reader", "2026-01")
    assert set(list_states(books).values()) == {"fresh"}


def test_equal_files_are_recognised_without_comparing_rows(books: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.compare.outputs.compare_rows", None)
    output = compare(books, "2026-01").outputs[0]
    assert (output.rows_before, output.rows_after, output.same) == (2, 2, 2)
    totals = {column.name: (column.total_before, column.difference) for column in output.columns}
    assert totals["double"] == ("30.00", "0.00")


def test_mistyped_key_is_reported_before_anything_runs(books: Workplace) -> None:
    with pytest.raises(click.UsageError, match=r"'shp'.*did you mean 'shop'"):
        compare(books, "2026-01", "shp")


def test_first_publication_has_nothing_to_compare_with(books: Workplace) -> None:
    books.write_sales("2026-03", north="1.00")
    assert compare(books, "2026-03").outputs[0].added == 1
    assert "comparison" not in books.run("first", "2026-03").report


def test_comparison_leaves_a_run_that_waits_for_a_decision_alone(books: Workplace) -> None:
    books.write_sales("2026-01", north="11.00", south="5.00")
    snapshot = books.resolve("first", "2026-01")
    runner = LocalRunner(books.registry, lambda: books.spark, books.said.append, stage_only=True)
    assert runner.execute(snapshot, "snapshots/x.json").succeeded
    with pytest.raises(PlanError, match="waits for a decision"):
        compare(books, "2026-01")
    record = books.registry.find_run(snapshot.run_id)
    assert record is not None
    assert record.status == "staged"
    assert runner.compare_staged(snapshot, record, CompareRequest()).outputs[0].changed == 1

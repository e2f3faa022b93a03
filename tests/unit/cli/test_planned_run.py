"""`run --plan`: in the plan's order, as long as it holds, and nothing that depends on a failure."""

from __future__ import annotations

import json

import pytest

from airflow_provider_runtime.cli.local_run import RunResult
from airflow_provider_runtime.cli.planned_run import run_plan
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from tests.unit.core.books import Books, publish_books, restore_books


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


@pytest.fixture
def books(published: Books) -> Books:
    made = restore_books(published)
    for month in ("2026-01", "2026-02"):
        made.put(f"sales/{month}.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    return made


def run(books: Books, *, fails: set[str] = frozenset(), keep_going: bool = False) -> list[tuple[str, str]]:
    path = books.root / "plan.json"
    path.write_text(json.dumps(books.plan().to_document()), encoding="utf-8")
    ran: list[tuple[str, str]] = []

    def run_one(project: str, period: str) -> RunResult:
        ran.append((project, period))
        problems = (Problem("DATA_003", "bad"),) if period in fails else ()
        return RunResult(period, {}, problems=problems)

    run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), run_one, keep_going=keep_going)
    return ran


def test_what_others_read_runs_first(books: Books) -> None:
    assert run(books) == [
        ("close", "2026-01"), ("names", "2026-01"), ("close", "2026-02"), ("names", "2026-02"), ("dollars", "2026-Q1"),
    ]  # fmt: skip


def test_failure_stops_the_plan(books: Books, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(books, fails={"2026-01"}) == [("close", "2026-01")]
    assert "stopped: 4 were not run (names 2026-01, close 2026-02, names 2026-02" in capsys.readouterr().err


def test_with_keep_going_only_what_depends_on_the_failure_is_left_out(books: Books) -> None:
    assert run(books, fails={"2026-01"}, keep_going=True) == [
        ("close", "2026-01"), ("close", "2026-02"), ("names", "2026-02"),
    ]  # fmt: skip


def test_plan_that_no_longer_holds_runs_nothing(books: Books) -> None:
    path = books.root / "plan.json"
    path.write_text(json.dumps(books.plan().to_document()), encoding="utf-8")
    books.put("rates.csv", "currency,rate\nEUR,9.9\n")
    with pytest.raises(RuntimeProviderError, match="PLAN_001"):
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"plan_id": 1}'])
def test_file_that_is_not_a_plan_is_told(books: Books, content: str) -> None:
    path = books.root / "plan.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RuntimeProviderError, match="this is not a plan"):
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)


def test_nothing_to_run_is_told(books: Books, capsys: pytest.CaptureFixture[str]) -> None:
    for project, period in run(books):
        books.run(project, period)
    capsys.readouterr()
    assert run(books) == []
    assert "nothing is missing or stale" in capsys.readouterr().out

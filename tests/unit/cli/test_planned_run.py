"""`run --plan`: in the plan's order, as long as it holds, and nothing that depends on a failure."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from airflow_provider_runtime.cli.local_run import RunResult
from airflow_provider_runtime.cli.planned_run import run_plan
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from tests.unit.core.books import CATALOG, Books, publish_books, restore_books


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


@pytest.fixture
def books(published: Books) -> Books:
    made = restore_books(published)
    for month in ("2026-01", "2026-02"):
        made.put(f"sales/{month}.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    return made


def run(
    books: Books, *, fails: set[str] = frozenset(), stages: set[str] = frozenset(), keep_going: bool = False
) -> list[tuple[str, str]]:
    path = books.root / "plan.json"
    path.write_text(json.dumps(books.plan().to_document()), encoding="utf-8")
    ran: list[tuple[str, str]] = []

    def run_one(project: str, period: str) -> RunResult:
        ran.append((project, period))
        problems = (Problem("DATA_003", "bad"),) if period in fails else ()
        return RunResult(period, {"status": "staged"} if period in stages else {}, problems=problems)

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


def test_what_reads_a_run_that_waits_for_a_decision_is_left_for_later(
    books: Books, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(books, stages={"2026-01"}) == [("close", "2026-01"), ("close", "2026-02"), ("names", "2026-02")]
    said = capsys.readouterr().err
    assert "2 were not run: publish first what they read, then make a new plan (" in said
    assert "names 2026-01" in said
    assert "dollars 2026-Q1" in said


def test_plan_that_no_longer_holds_runs_nothing(books: Books) -> None:
    path = books.root / "plan.json"
    path.write_text(json.dumps(books.plan().to_document()), encoding="utf-8")
    books.put("rates.csv", "currency,rate\nEUR,9.9\n")
    with pytest.raises(RuntimeProviderError, match="PLAN_001"):
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)


def edit(books: Books, old: str, new: str) -> None:
    assert old in CATALOG
    books.write(CATALOG.replace(old, new, 1))


def stage(books: Books) -> None:
    books.registry.stage_attempt(books.begin("close", "2026-01"), {})


MOVES: dict[str, Callable[[Books], object]] = {
    "a file that is to be read": lambda books: books.put("sales/2026-01.csv", "shop,currency,amount\nOslo,EUR,3.00\n"),
    "a file of a fresh period": lambda books: books.put("sales/2026-03.csv", "shop,currency,amount\n"),
    "a file that is gone": lambda books: (books.root / "data" / "rates.csv").unlink(),
    "an expression": lambda books: edit(books, "UPPER(shop)", "LOWER(shop)"),
    "a setting": lambda books: edit(books, "name: close\n", "name: close\n  keep_failing_rows: false\n"),
    "a version of a dataset": lambda books: edit(books, "name: Rates\n  version: 1", "name: Rates\n  version: 2"),
    "a resolver": lambda books: edit(books, "id: lake\n  version: 1", "id: lake\n  version: 2"),
    "a datasource": lambda books: edit(books, "../data}", "../data, options: {delimiter: ;}}"),
    "a project more": lambda books: books.write(CATALOG + "---\n" + ANOTHER),
    "a project less": lambda books: books.write(CATALOG.partition("---\nproject:\n  id: names")[0]),
    "a run": lambda books: books.run("close", "2026-01"),
    "a run of a fresh period": lambda books: books.run("close", "2026-03"),
    "a run of a reader": lambda books: books.run("names", "2026-01"),
    "a failed run": lambda books: books.run("close", "2026-01", fails=True),
    "a run at work": lambda books: books.begin("close", "2026-01"),
    "staged rows": stage,
    "a closed period": lambda books: set_status(books, "2026-01", "closed"),
    "a locked quarter": lambda books: set_status(books, "2026-Q1", "locked"),
}
ANOTHER = "project:" + CATALOG.rpartition("project:")[2].replace("names", "others")


def set_status(books: Books, period: str, status: PeriodStatus) -> None:
    books.registry.set_period_status("gregorian", period, status, who="ann", reason="done")


@pytest.mark.parametrize("move", MOVES)
def test_whatever_moves_the_plan_is_refused(move: str, books: Books) -> None:
    path = books.root / "plan.json"
    path.write_text(json.dumps(books.plan().to_document()), encoding="utf-8")
    MOVES[move](books)
    with pytest.raises(RuntimeProviderError, match=r"PLAN_001.*something has moved"):
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)


@pytest.mark.parametrize("edited", ["left out", "turned round", "made stale", "added"])
def test_plan_that_somebody_has_edited_runs_nothing(edited: str, books: Books) -> None:
    document = books.plan().to_document()
    entries = document["entries"]
    document["entries"] = {
        "left out": entries[1:],
        "turned round": entries[::-1],
        "made stale": [{**entry, "state": "stale"} for entry in entries],
        "added": [*entries, {**entries[0], "period": "2025-12"}],
    }[edited]
    path = books.root / "plan.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RuntimeProviderError, match=r"PLAN_001.*the plan's file was edited") as caught:
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)
    assert "--project P --period" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"plan_id": 1}'])
def test_file_that_is_not_a_plan_is_reported(books: Books, content: str) -> None:
    path = books.root / "plan.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RuntimeProviderError, match="this is not a plan"):
        run_plan(path, books.root / "catalog", books.registry, RunSnapshots(), None, keep_going=False)


def test_nothing_to_run_is_reported(books: Books, capsys: pytest.CaptureFixture[str]) -> None:
    for project, period in run(books):
        books.run(project, period)
    capsys.readouterr()
    assert run(books) == []
    assert "nothing is missing or stale" in capsys.readouterr().out

"""Checks, staging, approval, `publish` and `discard` of runs that write into tables."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.registry.ports import RunRecord
from airflow_provider_runtime.core.runs import execution
from airflow_provider_runtime.core.runs.staged_files import remove_staged_files
from airflow_provider_runtime.core.tables import TableColumn
from spark_jobs.contract.snapshot import Snapshot
from tests.integration.tables.books import Books, double_into
from tests.integration.tables.kit import lines

pytestmark = [pytest.mark.spark, pytest.mark.integration]


class Staged:
    """A run whose rows wait for a decision."""

    def __init__(self, books: Books, period: str = "2026-01") -> None:
        self.books = books
        self.snapshot: Snapshot = books.place.resolve("close", period)
        self.uri = write_snapshot(self.snapshot, str(books.place.folder / "snapshots"))
        place = books.place
        self.runner = LocalRunner(place.registry, lambda: place.spark, place.said.append, stage_only=True)
        result = self.runner.execute(self.snapshot, self.uri)
        assert result.report["status"] == "staged", result.problems

    @property
    def record(self) -> RunRecord:
        found = self.books.place.registry.find_run(self.snapshot.run_id)
        assert found is not None
        return found

    def publish(self) -> RunResult:
        return self.runner.publish(self.snapshot, self.uri)

    def discard(self) -> None:
        self.books.place.registry.discard_staged(self.snapshot.run_id, who="tester", reason="wrong rates")
        self.runner.remove_staged(self.snapshot, self.record)


@pytest.fixture
def books(books: Books) -> Books:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    return books


def list_attempts(books: Books) -> list[Path]:
    location = Path(books.results.open().find_location().removeprefix("file://"))
    return sorted(location.glob("runtime-*/*"))


def test_staged_rows_are_seen_by_nobody_and_gone_after_discard(books: Books) -> None:
    staged = Staged(books)
    assert books.results.open().find_state().version is None
    assert len(list_attempts(books)) == 1
    staged.discard()
    assert list_attempts(books) == []
    with pytest.raises(RuntimeProviderError, match="was given up"):
        staged.publish()
    assert books.results.open().find_state().version is None


@pytest.mark.parametrize("is_table_gone", [True, False])
def test_staged_files_that_were_cleared_away_are_reported(books: Books, is_table_gone: bool) -> None:
    books.run()
    books.ledger.publish(lines("2026-01", "7.00"), token=2)
    staged = Staged(books)
    (attempt,) = (path for path in list_attempts(books) if (path / "_uncommitted").exists())
    shutil.rmtree(attempt.parents[1] if is_table_gone else attempt)
    (problem,) = staged.publish().problems
    assert problem.code == "DATA_001"
    assert "the files that wait for a decision are gone" in problem.message


def test_discard_of_a_second_run_leaves_what_is_published(books: Books) -> None:
    books.run()
    books.ledger.publish(lines("2026-01", "7.00"), token=2)
    Staged(books).discard()
    assert books.read_results() == [("2026-01", "A0", "2.00")]
    assert len(list_attempts(books)) == 1


def test_published_rows_are_those_that_were_staged(books: Books) -> None:
    staged = Staged(books)
    books.ledger.publish(lines("2026-01", "9.00"), token=2)
    assert staged.publish().succeeded
    assert books.read_results() == [("2026-01", "A0", "2.00")]
    again = staged.publish()
    assert again.succeeded
    assert len(books.results.open().read_head().list_changes()) == 1  # type: ignore[attr-defined]


def test_newer_attempt_takes_the_place_of_staged_rows(books: Books) -> None:
    staged = Staged(books)
    books.ledger.publish(lines("2026-01", "3.00"), token=2)
    books.run()
    with pytest.raises(RuntimeProviderError) as caught:
        staged.publish()
    assert caught.value.code in ("RUN_002", "PLAN_001")
    assert books.read_results() == [("2026-01", "A0", "6.00")]
    assert len(list_attempts(books)) == 1


@pytest.mark.parametrize(("shared", "code"), [(True, "RUN_002"), (False, "OUTPUT_002")])
def test_rows_that_others_committed_since_staging_are_not_replaced(books: Books, shared: bool, code: str) -> None:
    books.define(double_into({**books.destination(), "shared": shared}))
    books.run()
    books.ledger.publish(lines("2026-01", "3.00"), token=2)
    staged = Staged(books)
    columns = (TableColumn("account", "string"), TableColumn("_period", "string"))
    books.results.publish([{"account": "X", "_period": "2026-01"}], project="other", columns=columns)
    result = staged.publish()
    assert result.problems[0].code == code
    assert books.read_results() == [("2026-01", "X", "None")]


@pytest.mark.parametrize("remove", ["discard", "airflow"])
def test_discard_after_a_publication_that_died_keeps_committed_files(
    books: Books, monkeypatch: Any, remove: str
) -> None:
    staged = Staged(books)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(execution, "finish_attempt", die)
    with pytest.raises(KeyboardInterrupt):
        staged.publish()
    monkeypatch.undo()
    expected = [("2026-01", "A0", "2.00")]
    assert books.read_results() == expected
    if remove == "discard":
        staged.runner.remove_staged(staged.snapshot, staged.record)
    else:
        remove_staged_files(staged.record)
    assert books.read_results() == expected
    books.run()
    assert books.read_results() == expected


def test_check_that_fails_commits_nothing_and_is_reported_with_its_rows(books: Books) -> None:
    check = {"name": "at most one", "output": 20, "rows": "doubled <= 2", "on_fail": "block"}
    total = {"name": "total", "output": 20, "value": "SUM(doubled)"}
    books.define(double_into(books.destination()), checks=[check, total])
    assert books.run().report["checks"][1]["value"] == "2.00"
    books.ledger.publish(lines("2026-01", "1.00", "8.00"), token=2)
    result = books.place.execute(books.place.resolve("close", "2026-01"))
    assert [problem.code for problem in result.problems] == ["CHECK_001"]
    assert result.report["checks"][0]["sample"] == [{"account": "A1", "doubled": "16.00", "_period": "2026-01"}]
    assert books.read_results() == [("2026-01", "A0", "2.00")]
    assert len(list_attempts(books)) == 1
    recorded = books.place.registry.list_runs(project="close")[0]
    assert recorded.status == "failed"


def test_check_compares_with_a_pinned_version_of_a_table(books: Books) -> None:
    equals = {"dataset_id": "ledger", "value": "SUM(amount * 2)"}
    check = {"name": "all lines", "output": 20, "value": "SUM(doubled)", "equals": equals}
    books.define(double_into(books.destination()), checks=[check])
    snapshot = books.place.resolve("close", "2026-01")
    (pinned,) = snapshot.resolver_snapshot.check_datasets
    assert pinned.table_version == books.ledger.open().find_state().version
    books.ledger.publish(lines("2026-01", "100.00"), token=2)
    result = books.place.execute(snapshot)
    assert result.succeeded, result.problems
    assert result.report["checks"][0]["expected"] == "2.00"


def test_approval_publishes_what_was_looked_at(books: Books) -> None:
    books.define(double_into(books.destination()), publication={"approval": "required", "by": ["ann"]})
    snapshot = books.place.resolve("close", "2026-01")
    uri = write_snapshot(snapshot, str(books.place.folder / "snapshots"))
    runner = LocalRunner(books.place.registry, lambda: books.place.spark, books.place.said.append)
    assert runner.execute(snapshot, uri).report["status"] == "staged"
    with pytest.raises(RuntimeProviderError) as caught:
        runner.publish(snapshot, uri)
    assert caught.value.code == "APPROVAL_001"
    assert books.results.open().find_state().version is None


def test_amounts_are_exact(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "9999999999999999.99", "0.01"), token=2)
    books.run()
    assert {row["doubled"] for row in books.results.read()} == {Decimal("19999999999999999.98"), Decimal("0.02")}

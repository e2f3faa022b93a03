"""`why` on tables: rows are followed from the version that was read to the version that was committed."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.cli.why import ask
from airflow_provider_runtime.core.evidence.why import Question
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.runs.published import find_reported_run
from spark_jobs.contract.why import History
from tests.integration.tables.books import Books, double_into
from tests.integration.tables.kit import lines

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def why(books: Books, run_id: str | None = None) -> History:
    registry, place = books.place.registry, books.place
    found = find_reported_run(registry, "close", "2026-01", run_id)
    runner = LocalRunner(registry, lambda: place.spark, place.said.append)
    return ask(runner, found, RunSnapshots().read(found.record), Question(where='account = "A1"'))


def test_row_is_followed_from_its_file_to_the_committed_row(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00", "2.00"))
    books.define(double_into(books.destination(), key=["account"]))
    run_id = books.run().report["run_id"]
    (file,) = books.ledger.open().find_pin().files  # type: ignore[union-attr]
    for amount in ("2.00", "7.00"):
        # The second time, both tables have moved on, and another run was published.
        history = why(books, run_id)
        (row,) = history.rows
        assert row.origin.file == file.uri.removeprefix("file://")
        assert [(proof.published, proof.equal) for proof in row.outputs] == [(True, True)]
        assert {change.column: change.after for change in row.steps[1].changes}["doubled"] == "4.00"
        assert history.changed_sources == ()
        books.ledger.publish(lines("2026-01", "1.00", amount), token=int(amount[0]))
        books.run()
    (row,) = why(books).rows
    assert [(proof.published, proof.equal) for proof in row.outputs] == [(True, True)]
    assert {change.column: change.after for change in row.steps[1].changes}["doubled"] == "14.00"

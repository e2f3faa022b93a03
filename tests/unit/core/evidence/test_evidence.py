"""The evidence of a period: what it holds, and that its page is self-contained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.evidence.gather import KEYS, Evidence, LatestRun, Waiting, gather_evidence
from airflow_provider_runtime.core.evidence.page import render_page
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.plan import Work
from airflow_provider_runtime.core.registry.ports import SliceWrite
from airflow_provider_runtime.core.runs.begin import begin_attempt
from tests.unit.core.books import Books, publish_books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


def gather(books: Books, project: str, period: str, due: datetime | None = None) -> Evidence:
    work = Work(project, period)
    return gather_evidence(books.registry, books.plan(), work, "gregorian", "month", RunSnapshots(), due)


def test_evidence_shows_state_versions_history_and_what_follows(books: Books) -> None:
    evidence = gather(books, "close", "2026-02")
    assert (evidence.state, evidence.status) == ("fresh", "open")
    assert [(pin["used_by"], pin["dataset"], pin["version"]) for pin in evidence.pins] == [
        ("input", "Sales", 1),
        ("join fx of operation 10", "Rates", 1),
    ]
    assert [(entry["project"], entry["period"]) for entry in evidence.downstream] == [
        ("names", "2026-02"),
        ("dollars", "2026-Q1"),
    ]
    assert len(evidence.history) == 1
    assert evidence.run is not None
    assert evidence.run.status == "succeeded"


def test_registered_dataset_is_called_by_its_name(books: Books) -> None:
    assert [pin["dataset"] for pin in gather(books, "names", "2026-02").pins] == ["Monthly Close"]


def test_period_without_a_run_has_evidence_too(books: Books) -> None:
    evidence = gather(books, "close", "2027-01")
    assert (evidence.state, evidence.run) == ("missing", None)
    assert "No run yet." in render_page(evidence)


def test_closing_and_reopening_are_in_the_evidence(books: Books) -> None:
    books.registry.set_period_status("gregorian", "2026-01", "closed", who="ann", reason="books are done")
    books.registry.set_period_status("gregorian", "2026-01", "open", who="bob", reason="a late invoice")
    history = gather(books, "close", "2026-01").status_history
    assert [(change["status"], change["who"], change["reason"]) for change in history] == [
        ("open", "bob", "a late invoice"),
        ("closed", "ann", "books are done"),
    ]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fetched = {name for name, _ in attrs} & {"src", "href", "srcset", "action", "background"}
        if tag in ("script", "link", "iframe", "object", "img") or fetched:
            self.found.append(tag)


def test_page_has_no_scripts_and_no_links_out(books: Books) -> None:
    page = render_page(gather(books, "close", "2026-02"))
    links = _Links()
    links.feed(page)
    assert links.found == []
    assert not re.search(r"https?://|@import|url\(", page)


def test_what_people_write_is_not_markup(books: Books) -> None:
    evidence = replace(gather(books, "close", "2026-02"), project="<script>alert(1)</script>")
    page = render_page(evidence)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_outputs_have_their_versions_and_totals_and_every_publication_is_in_the_history(tmp_path: Path) -> None:
    books = publish_books(tmp_path)
    check = {"name": "total usd", "output": 20, "kind": "value", "status": "recorded", "value": "10.16"}
    other = {
        **check,
        "name": "by shop",
        "value": None,
        "groups": [{"key": {"shop": "a"}, "status": "passed", "value": "10.16"}],
    }
    output = {"seq": 20, "destination": "lake/out/close", "rows": 2, "registered_dataset": "Monthly Close"}
    report = {"status": "succeeded", "outputs": [output], "checks": [check, other]}
    snapshot = books.resolve("close", "2026-02")
    known = books.registry.list_versions("Monthly Close")[-1]
    for uri in ("file:/1", "file:/2"):
        # The same snapshot is executed again, as when a task is cleared.
        attempt = begin_attempt(books.registry, snapshot, who="ann")
        write = SliceWrite(20, known.dataset_id, known.name, "2026-02", uri, 2, known.definition)
        books.registry.finish_attempt(attempt, [write], report)
    evidence = gather(books, "close", "2026-02")
    (shown,) = evidence.outputs
    last = known.version + 2
    assert (shown["registered_version"], shown["totals"]) == (last, {"total usd": "10.16"})
    told = [(entry["rows"], entry["who"], entry["outputs"][0]["totals"]) for entry in evidence.history[:2]]
    assert told == [(2, "ann", {"total usd": "10.16"})] * 2
    assert [entry["run_id"] for entry in evidence.history[:2]] == [snapshot.run_id] * 2
    page = render_page(evidence)
    assert f"Monthly Close version {last}" in page
    assert "<div>20: total usd 10.16</div>" in page


LEFT_OUT = {
    # What the definition says, which the snapshot holds.
    "kind", "on_fail", "output", "columns", "dataset_id", "computed_with",
    # The totals of a publication are shown; the rows and the destination of each of its outputs are those of the run.
    "same",
}  # fmt: skip
"""What the page leaves to the documents that it names."""


def make_full(evidence: Evidence) -> Evidence:
    """Return evidence with all that it can hold."""
    assert evidence.run is not None
    check = {
        **dict.fromkeys(KEYS["checks"]),
        "name": "balanced", "status": "failed", "value": "0.01", "expected": "0.02", "difference": "0.03",
        "failing_rows": 17, "failing_rows_uri": "s3://books/failing", "message": "does not balance",
        "groups": [{"key": {"currency": "EUR"}, "status": "failed", "value": "0.04", "expected": "0.05",
                    "difference": "0.06"}],
    }  # fmt: skip
    column = {"name": "usd", "changed": 2, "total_before": "10.07", "total_after": "10.08", "difference": "0.09"}
    same = {"name": "eur", "changed": 0, "total_before": "3.10", "total_after": "3.10", "difference": "0.00"}
    counts = {"rows_before": 1018, "rows_after": 1019, "added": 11, "removed": 12, "changed": 13}
    comparison = {"outputs": [{"seq": 20, "destination": "out/close", **counts, "columns": [column, same]}]}
    output = {
        **dict.fromkeys(KEYS["outputs"]), "seq": 20, "destination": "out/close", "rows": 1014, "table_version": 8815,
        "registered_dataset": "Monthly Close", "registered_version": 3, "totals": {"usd": "10.16"},
    }  # fmt: skip
    operation = {
        **dict.fromkeys(KEYS["operations"]), "seq": 10, "type": "update", "name": "Convert", "rows_affected": 21,
        "rows_after": 22, "seconds": 1.5, "joins": [{"alias": "fx", "matched": 23, "unmatched": 24}],
    }  # fmt: skip
    error = {"code": "DATA_003", "message": "does not fit", "hint": "look at the rates"}
    failed = replace(evidence.run, run_id="run-2", status="failed", error=error, attempt=4)
    decision = {
        "decision": "approved",
        "who": "ben",
        "preparer": "ann",
        "at": "2026-02-02T10:00:00Z",
        "comment": "agrees",
    }
    who = {"check": "balanced", "who": "eve", "reason": "known loss", "at": "2026-02-01T09:00:00Z"}
    return replace(
        evidence,
        reasons=[{"kind": "source", "detail": "a file is new", "columns": ["amount"]}],
        latest=LatestRun(failed, [output], [check], comparison),
        waiting=Waiting("run-3", "carl", True, ["dora"], "2026-02-09T00:00:00Z", {**decision, "comment": "wait"}),
        checks=[check],
        outputs=[output],
        operations=[operation],
        pins=[{**evidence.pins[0], "table_version": 8816}],
        overrides=[who],
        permissions=[{**who, "who": "fred"}],
        comparison=comparison,
        approval=decision,
        deadline={"due": "2026-03-03T00:00:00Z", "is_late": True},
        status_history=[{"status": "closed", "who": "gina", "reason": "done", "at": "2026-03-04T00:00:00Z"}],
    )


def list_told(value: Any, key: str = "") -> Iterator[str]:
    """Yield each thing that evidence holds, as people write it."""
    if key in LEFT_OUT or value is None or isinstance(value, bool):
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from list_told(item, name)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from list_told(item, key)
    else:
        yield f"{value:,}" if isinstance(value, int) and key not in ("version", "table_version") else str(value)


def test_page_shows_all_that_the_evidence_holds(books: Books) -> None:
    evidence = make_full(gather(books, "close", "2026-02"))
    document = evidence.to_document()
    document["comparison"]["outputs"][0]["columns"].pop()
    page = unescape(render_page(evidence).replace("<wbr>", ""))
    assert [told for told in list_told(document) if told not in page] == []
    assert "Published late: was due" in page


def test_columns_that_are_as_before_are_not_compared(books: Books) -> None:
    assert "3.10" not in render_page(make_full(gather(books, "close", "2026-02")))


def test_first_publication_after_the_deadline_was_late(books: Books) -> None:
    early, late = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
    for period in ("2026-02", "2027-01"):
        assert gather(books, "close", period, due=early).deadline == {"due": "2000-01-01T00:00:00Z", "is_late": True}
        assert gather(books, "close", period, due=late).deadline == {"due": "9000-01-01T00:00:00Z", "is_late": False}


def test_rows_that_a_comparison_shows_stay_out_of_the_evidence(books: Books) -> None:
    output = {"seq": 20, "sample": [{"change": "added", "key": {"shop": "secret"}}], "columns": []}
    report = {"status": "succeeded", "outputs": [], "comparison": {"outputs": [output]}}
    books.registry.finish_attempt(books.begin("dollars", "2026-Q1"), [], report)
    assert gather(books, "dollars", "2026-Q1").comparison == {"outputs": [{"seq": 20, "columns": []}]}

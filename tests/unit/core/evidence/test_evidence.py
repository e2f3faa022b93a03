"""The evidence of a period: what it tells, and that its page needs nothing but itself."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from airflow_provider_runtime.core.evidence.gather import Evidence, gather_evidence
from airflow_provider_runtime.core.evidence.page import render_page
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.plan import Work
from tests.unit.core.books import Books, publish_books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


def gather(books: Books, project: str, period: str, level: str = "month") -> Evidence:
    return gather_evidence(books.registry, books.plan(), Work(project, period), "gregorian", level, RunSnapshots())


def test_evidence_tells_state_versions_history_and_what_follows(books: Books) -> None:
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


def test_registered_dataset_is_told_by_name(books: Books) -> None:
    assert [pin["dataset"] for pin in gather(books, "names", "2026-02").pins] == ["Monthly Close"]


def test_period_without_a_run_has_evidence_too(books: Books) -> None:
    evidence = gather(books, "close", "2027-01")
    assert (evidence.state, evidence.run) == ("missing", None)
    assert "No run yet." in render_page(evidence)


def test_closing_and_reopening_stand_in_the_evidence(books: Books) -> None:
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


def test_what_people_write_is_no_markup(books: Books) -> None:
    evidence = replace(gather(books, "close", "2026-02"), project="<script>alert(1)</script>")
    page = render_page(evidence)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_checks_and_comparison_are_shown(books: Books) -> None:
    check = {"name": "balanced", "status": "failed", "value": "0.01", "expected": "0", "difference": "0.01"}
    column = {"name": "usd", "changed": 2, "total_before": "10.00", "total_after": "10.01", "difference": "0.01"}
    counts = {"rows_before": 2, "rows_after": 2, "added": 0, "removed": 0, "changed": 2}
    comparison = {"outputs": [{"seq": 20, "destination": "out/close", **counts, "columns": [column]}]}
    evidence = gather(books, "close", "2026-02")
    shown = replace(evidence, checks=[{**check, "failing_rows": None}], comparison=comparison)
    page = render_page(shown)
    assert "balanced" in page
    assert "10.01" in page

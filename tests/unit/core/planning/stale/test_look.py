"""States and reasons: every change to definitions or data makes stale what depends on it, and nothing else."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.stale.making import check_plan, make_plan
from airflow_provider_runtime.core.planning.stale.plan import Scope
from tests.unit.core.books import CATALOG, Books, publish_books, restore_books


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


@pytest.fixture
def books(published: Books) -> Books:
    return restore_books(published)


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


def test_plan_is_in_run_order(books: Books) -> None:
    books.put("sales/2026-02.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    order = [(entry.work.project, entry.work.period) for entry in books.plan().list_to_run()]
    assert order == [("close", "2026-02"), ("names", "2026-02"), ("dollars", "2026-Q1")]


def test_closed_period_is_shown_and_not_run(books: Books) -> None:
    books.registry.set_period_status("gregorian", "2026-02", "closed", who="ann", reason="done")
    books.put("sales/2026-02.csv", "")
    entry = next(e for e in books.plan(project="close").entries if e.work.period == "2026-02")
    assert (entry.state, entry.status) == ("stale", "closed")
    assert entry.work not in {found.work for found in books.plan().list_to_run()}


def test_scope_of_months_includes_their_quarter(books: Books) -> None:
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


@pytest.mark.parametrize("entries", [5, [5], [{}], {"a": 1}, None])
def test_plan_that_somebody_has_edited_is_refused_without_a_traceback(books: Books, entries: object) -> None:
    document = {**books.plan(period="2026-02").to_document(), "plan_id": "sha256:0", "entries": entries}
    with pytest.raises(RuntimeProviderError, match="PLAN_001"):
        check_plan(document, books.root / "catalog", books.registry)


@pytest.mark.parametrize(
    ("period", "said", "hint"),
    [
        ("2026-13", "'2026-13' is not in the calendar", "a month is written like 2026-01"),
        ("2026Q1", "'2026Q1' is not in the calendar", "did you mean '2026-Q1'?"),
        ("2026-01..2026-13", "'2026-13' is not in the calendar", "a month is written like 2026-01"),
        ("2026-03..2026-01", "ends before it begins", "write 2026-01..2026-03"),
        ("2026-01..", "has only one end", "name the first and the last period: X..Y"),
        ("..2026-01", "has only one end", "name the first and the last period: X..Y"),
    ],
)
def test_period_for_which_nothing_runs_is_reported(books: Books, period: str, said: str, hint: str) -> None:
    with pytest.raises(RuntimeProviderError, match="PERIOD_001") as caught:
        books.plan(period=period)
    assert said in str(caught.value)
    assert hint in str(caught.value.problems[0].hint)


def test_change_of_resolver_is_reported_before_changed_files(books: Books) -> None:
    moved = CATALOG.replace("path: rates.csv", "path: new/rates.csv").replace(
        "id: lake\n  version: 1", "id: lake\n  version: 2"
    )
    books.put("new/rates.csv", "currency,rate\nEUR,1.1\n")
    books.write(moved)
    assert list_stale(books) == {"close": MONTHS, "dollars": {"2026-Q1"}}
    assert books.reasons("close", "2026-01") == [("resolver", ("usd",))]


def test_resolver_of_another_version_that_finds_the_same_leaves_everything_fresh(books: Books) -> None:
    books.write(CATALOG.replace("id: lake\n  version: 1", "id: lake\n  version: 2"))
    assert list_stale(books) == {}


def test_other_meaning_of_missing_data_leaves_everything_fresh(books: Books) -> None:
    newer = CATALOG.replace("id: lake\n  version: 1", "id: lake\n  version: 2")
    books.write(newer.replace("data_level: any,", "data_level: any, on_missing: empty,"))
    assert list_stale(books) == {}


def test_other_options_of_a_datasource_make_stale_what_is_read_with_them(books: Books) -> None:
    books.write(CATALOG.replace("path_prefix: ../data}", "path_prefix: ../data, options: {delimiter: ;}}"))
    assert list_stale(books) == {"close": MONTHS, "names": MONTHS, "dollars": {"2026-Q1"}}
    # Both of its tables, and its output, which is written with them too.
    assert [kind for kind, _ in books.reasons("close", "2026-01")] == ["resolver", "resolver", "resolver"]


def test_dataset_that_was_edited_after_use_reaches_what_is_made_of_it(books: Books) -> None:
    books.write(CATALOG.replace("{name: rate, type: decimal, precision: 18, scale: 6}", "{name: rate, type: integer}"))
    assert list_stale(books) == {"close": MONTHS, "dollars": {"2026-Q1"}}
    assert books.reasons("close", "2026-01") == [("version", ("usd",))]
    (reason,) = next(entry for entry in books.plan(project="close").entries).reasons
    assert reason.detail == "version 1 of dataset 'Rates' was edited after use: give it a new version"
    books.write(CATALOG.replace("name: Rates\n", "name: Rates\n  description: of the central bank\n"))
    assert list_stale(books) == {}


def test_output_that_goes_elsewhere_is_stale(books: Books) -> None:
    out = "---\ndatasource: {id: out, type: csv, path_prefix: ../%s}\n"
    elsewhere = "destination: {datasource_id: out, path: names}"
    apart = CATALOG.replace("destination: {datasource_id: lake, table: out/names}", elsewhere)
    head, project, rest = apart.partition("project:\n  id: names")
    apart = head + project + rest.replace("version: 1", "version: 2", 1)
    books.write(apart + out % "first")
    books.run("names", "2026-01")
    assert books.states()["names", "2026-01"] == "fresh"
    books.write(apart + out % "second")
    assert books.reasons("names", "2026-01") == [("resolver", ("shop", "name"))]
    books.write(apart + (out % "first").replace("}", ", options: {delimiter: ;}}"))
    assert books.reasons("names", "2026-01") == [("resolver", ("shop", "name"))]


def test_draft_that_became_active_has_published_elsewhere(tmp_path: Path) -> None:
    books = Books(tmp_path)
    draft = CATALOG.replace("name: names\n", "name: names\n  status: draft\n").replace(
        "input_dataset_id: Monthly Close", "input_dataset_id: sales"
    )
    sandbox = "---\ndatasource: {id: sandbox, type: csv, path_prefix: ../sandbox}\n"
    assert "status: draft" in draft
    books.put("sales/2026-01.csv", "shop,currency,amount\nBern,EUR,1.00\n")
    draft = draft.replace("columns: [shop, name]", "columns: [shop]")
    books.write(draft + sandbox)
    books.run("names", "2026-01")
    books.write(draft.replace("  status: draft\n", "") + sandbox)
    assert books.states(project="names")["names", "2026-01"] == "stale"


def test_moved_end_of_a_period_reaches_only_what_depends_on_its_days(tmp_path: Path) -> None:
    calendar = """---
calendar:
  id: retail
  levels: [{name: month}]
  periods:
    - {identifier: P01, level: month, start_date: 2026-01-05, end_date: 2026-02-01}
    - {identifier: P02, level: month, start_date: 2026-02-02, end_date: 2026-03-01}
"""
    catalog = (
        CATALOG.partition("---\nproject:\n  id: dollars")[0]
        .replace("version: 1\n  input", "version: 1\n  calendar: retail\n  input")
        .replace("expression: UPPER(shop)}", 'expression: "CONCAT(shop, TEXT(PERIOD_END()))"}')
        .replace("{{YYYY}}-{{MM}}", "{{identifier}}")
    )
    books = Books(tmp_path)
    books.write(catalog + calendar)
    books.put("rates.csv", "currency,rate\nEUR,1.1\n")
    for period in ("P01", "P02"):
        books.put(f"sales/{period}.csv", "shop,currency,amount\nBern,EUR,1.00\n")
        books.run("close", period)
    books.write(catalog + calendar.replace("2026-02-01", "2026-01-31").replace("2026-02-02", "2026-02-01"))
    assert books.reasons("close", "P01") == [("calendar", ("name",))]
    assert books.states()["close", "P02"] == "fresh"


def test_other_period_before_reaches_only_what_depends_on_its_name(tmp_path: Path) -> None:
    calendar = """---
calendar:
  id: retail
  levels: [{name: month}]
  periods:
    - {identifier: P02, level: month, start_date: 2026-02-02, end_date: 2026-03-01}
"""
    first = "    - {identifier: %s, level: month, start_date: 2026-01-05, end_date: 2026-02-01}\n"
    catalog = (
        CATALOG.partition("---\nproject:\n  id: dollars")[0]
        .replace("version: 1\n  input", "version: 1\n  calendar: retail\n  input")
        .replace("expression: UPPER(shop)}", 'expression: "CONCAT(shop, PREVIOUS_PERIOD_ID())"}')
        .replace("{{YYYY}}-{{MM}}", "{{identifier}}")
    )
    books = Books(tmp_path)
    books.put("rates.csv", "currency,rate\nEUR,1.1\n")
    books.put("sales/P02.csv", "shop,currency,amount\nBern,EUR,1.00\n")
    books.write(catalog + calendar)
    books.run("close", "P02")
    for name in ("P01", "OTHER"):
        books.write(catalog + calendar + first % name)
        assert books.reasons("close", "P02") == [("calendar", ("name",))]
        books.run("close", "P02")
        assert books.states()["close", "P02"] == "fresh"


def test_run_as_of_another_day_is_stale_where_it_reads_rows_of_a_day(tmp_path: Path) -> None:
    by_day = "    temporal_mode: bitemporal\n    temporal_columns: {from: since, to: until}\n"
    books = Books(tmp_path)
    books.write(CATALOG.replace("    name: rates\n", f"    name: rates\n{by_day}"))
    books.put("sales/2026-01.csv", "shop,currency,amount\nBern,EUR,1.00\n")
    books.put("rates.csv", "currency,rate,since,until\nEUR,1.1,2025-01-01,\n")
    books.run("close", "2026-01")
    assert books.states()["close", "2026-01"] == "fresh"
    books.run("close", "2026-01", as_of=date(2026, 1, 15))
    assert books.reasons("close", "2026-01") == [("calendar", ("usd",))]
    (reason,) = next(entry for entry in books.plan(period="2026-01").entries if entry.work.project == "close").reasons
    assert "as of 2026-01-15, a run without --as-of reads them as of 2026-01-01" in reason.detail
    books.run("close", "2026-01")
    assert books.states()["close", "2026-01"] == "fresh"


def test_run_as_of_another_day_is_fresh_where_it_reads_no_rows_of_a_day(books: Books) -> None:
    books.run("close", "2026-01", as_of=date(2026, 1, 15))
    assert books.states()["close", "2026-01"] == "fresh"


def test_period_that_has_not_begun_is_shown_and_not_run(books: Books) -> None:
    plan = books.plan(project="close", period="2026-04..2026-06")
    assert [(entry.work.period, entry.held_back) for entry in plan.entries] == [
        ("2026-04", None), ("2026-05", "not begun"), ("2026-06", "not begun"),
    ]  # fmt: skip
    assert [entry.work.period for entry in plan.list_to_run()] == ["2026-04"]


def test_file_that_cannot_be_read_is_reported_where_everything_is_planned(books: Books) -> None:
    (books.root / "catalog" / "broken.yaml").write_text("project: {id: [")
    with pytest.raises(RuntimeProviderError, match=r"CATALOG_001"):
        books.plan()
    assert books.states(project="names")


def test_staged_run_waits_as_long_as_its_rows_are_kept(books: Books) -> None:
    for keep_seconds, state in ((60.0, "staged"), (-1.0, "fresh")):
        attempt = books.begin("close", "2026-02")
        books.registry.stage_attempt(attempt, {}, keep_seconds=keep_seconds)
        assert books.states()["close", "2026-02"] == state


def test_run_whose_process_died_without_a_word_has_failed(books: Books) -> None:
    for period, lease_seconds, state in (("2026-02", 60.0, "running"), ("2026-03", -1.0, "failed")):
        books.begin("close", period, lease_seconds=lease_seconds)
        assert books.states()["close", period] == state


OWN_JOIN = "on: sales.currency = fx.currency}, {alias: own, dataset_id: %s, on: sales.shop = own.shop}]"


def test_project_that_reads_what_it_has_registered_itself_is_planned(books: Books) -> None:
    change(books, "on: sales.currency = fx.currency}]", OWN_JOIN % "Monthly Close")
    entry = next(found for found in books.plan(project="close").entries if found.work.period == "2026-01")
    assert (entry.state, entry.depends_on) == ("fresh", ())


def test_projects_that_read_each_other_are_planned(books: Books) -> None:
    change(books, "on: sales.currency = fx.currency}]", OWN_JOIN % "Names")
    path = books.root / "catalog" / "books.yaml"
    registering = "columns: [shop, name], register_as_dataset: Names}"
    path.write_text(path.read_text().replace("columns: [shop, name]}", registering))
    works = [(entry.work.project, entry.work.period) for entry in books.plan(period="2026-01").entries]
    assert sorted(works) == [("close", "2026-01"), ("dollars", "2026-Q1"), ("names", "2026-01")]

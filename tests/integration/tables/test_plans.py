"""`plan`, `status`, evidence and the board on tables: a newer version is seen, and what depends on it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.types import DecimalType

from airflow_provider_runtime.core.errors import PlanError
from airflow_provider_runtime.core.evidence.gather import Evidence, gather_evidence
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.making import check_plan, make_plan
from airflow_provider_runtime.core.planning.stale.plan import Plan, Scope, Work
from airflow_provider_runtime.core.tables import TableColumn
from tests.integration.runs.workplace import make_output, make_project, make_update
from tests.integration.tables.books import Books, double_into
from tests.integration.tables.kit import TableKit, lines

pytestmark = [pytest.mark.spark, pytest.mark.integration]
JANUARY, FEBRUARY = "2026-01", "2026-02"


@pytest.fixture
def books(books: Books) -> Books:
    """`close` doubles a ledger into a table and registers it, `reader` reads what is registered."""
    for period in (JANUARY, FEBRUARY):
        books.ledger.publish(lines(period, "1.00", "2.00"), period=period)
    books.define(double_into(books.destination(), register_as_dataset="Doubled", key=["account"]))
    output = make_output(20, "copy", columns=["account", "doubled"])
    books.place.write_catalog("reader.yaml", make_project("reader", [output], input_dataset_id="Doubled"))
    return books


def look(books: Books) -> Plan:
    return make_plan(books.place.folder / "catalog", books.place.registry, Scope(period=f"{JANUARY}..{FEBRUARY}"))


def list_states(books: Books) -> dict[tuple[str, str], str]:
    return {(entry.work.project, entry.work.period): entry.state for entry in look(books).entries}


def list_kinds(books: Books) -> list[str]:
    """Return the kinds of the reasons why January is stale."""
    entry = next(entry for entry in look(books).entries if entry.work == Work("close", JANUARY))
    return [reason.kind for reason in entry.reasons]


def run_all(books: Books) -> None:
    for period in (JANUARY, FEBRUARY):
        books.run(period)
        books.place.run("reader", period)


def test_newer_version_makes_its_period_stale_and_what_depends_on_it(books: Books) -> None:
    assert set(list_states(books).values()) == {"missing"}
    run_all(books)
    assert set(list_states(books).values()) == {"fresh"}
    document = look(books).to_document()

    books.ledger.publish(lines(JANUARY, "1.00", "5.00"), token=2)
    states = list_states(books)
    assert {work for work, state in states.items() if state == "stale"} == {("close", JANUARY), ("reader", JANUARY)}
    reasons = {entry.work.project: entry.reasons for entry in look(books).entries if entry.work.period == JANUARY}
    assert [(reason.kind, "GL" in reason.detail) for reason in reasons["close"]] == [("source", True)]
    assert reasons["close"][0].columns == ("account", "doubled", "_period")
    assert [reason.kind for reason in reasons["reader"]] == ["upstream"]
    with pytest.raises(PlanError, match="something has moved"):
        check_plan(document, books.place.folder / "catalog", books.place.registry)

    run_all(books)
    assert set(list_states(books).values()) == {"fresh"}


def test_column_that_was_dropped_and_added_again_makes_its_readers_stale(books: Books) -> None:
    if books.format == "delta":
        pytest.skip("Delta drops columns by column mapping, which is refused")
    with load_catalog("lake", **books.ledger.address.properties) as catalog:
        table = catalog.load_table("finance.ledger")
        for period in (JANUARY, FEBRUARY):
            amounts = pa.array([Decimal("7.00")], pa.decimal128(18, 2))
            table.append(pa.table({"account": ["A7"], "amount": amounts, "_period": [period]}))
        run_all(books)
        assert set(list_states(books).values()) == {"fresh"}
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("amount")
        with table.update_schema() as update:
            update.add_column("amount", DecimalType(18, 2))
    # The files are the same, and amounts in those that know columns by their ids are NULL now.
    assert set(list_states(books).values()) == {"stale"}


def test_run_that_writes_into_its_own_source_is_stale_by_its_own_commit(books: Books) -> None:
    output = make_output(20, "", columns=["account", "amount", "_period"])
    output["arguments"]["destination"] = books.destination("ledger")
    books.define([make_update(10, amount="amount * 2"), output])
    (books.place.folder / "catalog" / "reader.yaml").unlink()
    books.run(JANUARY)
    # What it has read is replaced: to run it again would double once more.
    assert list_states(books)["close", JANUARY] == "stale"
    assert list_states(books)["close", FEBRUARY] == "missing"


def test_as_of_of_the_run_decides_which_files_are_compared(books: Books) -> None:
    rates = _publish_rates(books)
    join = {"alias": "r", "dataset_id": "rates", "on": "ledger.account = r.account"}
    _, output = double_into(books.destination(), key=["account"])
    books.define([make_update(10, [join], doubled="amount * r.rate"), output])
    (books.place.folder / "catalog" / "reader.yaml").unlink()
    books.run(JANUARY, as_of=date(2025, 6, 1))
    assert {row[2] for row in books.read_results()} == {"3.0000", "6.0000"}
    assert list_kinds(books) == ["calendar"]
    rates.publish([], columns=RATE_COLUMNS, periods=(), token=2)
    assert list_kinds(books) == ["calendar", "source"]


def test_table_that_is_read_for_two_days_is_compared_with_both(books: Books) -> None:
    _publish_rates(books)
    joins = [
        {"alias": "old", "dataset_id": "rates", "on": "ledger.account = old.account", "as_of": "2025-06-01"},
        {"alias": "new", "dataset_id": "rates", "on": "ledger.account = new.account", "as_of": "period_end"},
    ]
    _, output = double_into(books.destination(), key=["account"])
    books.define([make_update(10, joins, doubled="amount * (new.rate - old.rate)"), output])
    (books.place.folder / "catalog" / "reader.yaml").unlink()
    books.run(JANUARY)
    assert list_states(books)["close", JANUARY] == "fresh"


def test_catalog_that_does_not_answer_makes_nothing_stale(books: Books, monkeypatch: Any) -> None:
    run_all(books)
    table = type(books.ledger.open())

    def find_pin(self: Any, *_: Any) -> None:
        raise self.address.make_error("INFRA_001", "its store fails")

    monkeypatch.setattr(table, "find_pin", find_pin)
    assert set(list_states(books).values()) == {"fresh"}
    monkeypatch.undo()
    monkeypatch.setattr(table, "find_pin", lambda *_: None)
    assert list_states(books)["close", JANUARY] == "stale"


def test_evidence_names_versions_of_tables(books: Books) -> None:
    version = books.ledger.open().find_state().version
    run_all(books)
    evidence = gather(books)
    assert [(pin["used_by"], pin["table_version"]) for pin in evidence.pins] == [("input", version)]
    first = next(change for change in reversed(books.results.open().read_head().list_changes()))  # type: ignore[attr-defined]
    assert [output["table_version"] for output in evidence.outputs] == [first.version]
    (source,) = evidence.sources
    assert (source["table"], source["files"]) == ("ledger", 1)
    assert source["bytes"] > 0
    json.dumps(evidence.to_document())


def gather(books: Books) -> Evidence:
    registry = books.place.registry
    plan = make_plan(books.place.folder / "catalog", registry, Scope())
    return gather_evidence(registry, plan, Work("close", JANUARY), "gregorian", "month", RunSnapshots())


RATE_COLUMNS = (
    TableColumn("account", "string"),
    TableColumn("rate", "decimal(18,2)"),
    TableColumn("_period_from", "date"),
    TableColumn("_period_to", "date"),
)


def _publish_rates(books: Books) -> TableKit:
    """A bitemporal table whose rows of two years are in a file each."""
    old, new = (date(2025, 1, 1), date(2026, 1, 1)), (date(2026, 1, 1), None)
    rows = [
        {"account": account, "rate": Decimal(rate), "_period_from": start, "_period_to": end}
        for rate, (start, end) in (("3.00", old), ("5.00", new))
        for account in ("A0", "A1")
    ]
    # Rows are dealt to files in turn.
    rows = [rows[0], rows[2], rows[1], rows[3]]
    rates = replace(books.ledger, name="rates")
    rates.publish(rows, columns=RATE_COLUMNS, periods=(), files=2)
    columns = [{"name": "account", "type": "string"}, {"name": "rate", "type": "decimal", "precision": 18, "scale": 2}]
    main = {"name": "rates", "temporal_mode": "bitemporal", "columns": columns}
    dataset = {"id": "rates", "name": "Rates", "version": 1, "resolver_id": "tables", "main_table": main}
    books.place.write_catalog("rates.yaml", {"dataset": dataset})
    return rates

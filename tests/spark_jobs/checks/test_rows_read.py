"""What checks read: staged rows in one or two steps, and no source a second time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.checks.evaluation import Evaluation
from spark_jobs.sinks.path import StagedFiles
from spark_jobs.sources import parallel
from tests.datasets import define_dataset
from tests.spark_jobs.checks.books import DOUBLE, LINES, Books, get_check

pytestmark = pytest.mark.spark


SUMMARY = (
    "{seq: 15, name: By currency, type: aggregate, arguments: {group_by: [currency],"
    " aggregations: [{column: doubled, expression: SUM(doubled)}]}}"
)


@pytest.mark.parametrize("is_small", [True, False])
def test_output_that_is_staged_in_two_steps_is_checked_as_one(
    books: Books, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    load, split = parallel.load_table, StagedFiles.split
    splits: list[str] = []
    monkeypatch.setattr(parallel, "load_table", lambda *asked: replace(load(*asked), is_small=is_small))
    monkeypatch.setattr(StagedFiles, "split", lambda files: (splits.append(files.uri), split(files)))
    values = ["SUM(doubled)", "COUNT(journal)", "MIN_AGG(doubled)", "MAX_AGG(currency)", "AVG(doubled)", "COUNT(*)"]
    books.define(
        *(f"{{name: v{number}, output: 20, value: {value}}}" for number, value in enumerate(values)),
        "{name: some, output: 20, where: doubled > 0, value: SUM(doubled), equals: {output: 30, value: SUM(doubled)}}",
        "{name: positive, output: 20, rows: doubled > 0, on_fail: warn}",
        "{name: named, output: 20, where: doubled > 0, rows: LEN(journal) > 0, on_fail: warn}",
        "{name: none, output: 20, where: doubled > 1000, value: SUM(doubled), equals: 0, on_fail: warn}",
        operations=(DOUBLE, SUMMARY, LINES),
    )
    result = books.run()
    assert len(splits) == (0 if is_small else 1)
    found = {check["name"]: (check["value"], check["rows"], check["failing_rows"]) for check in result.report["checks"]}
    assert found == {
        "v0": ("57.00", 6, None),
        "v1": ("3", 6, None),
        "v2": ("-2.50", 6, None),
        "v3": ("USD", 6, None),
        "v4": ("9.500000", 6, None),
        "v5": ("6", 6, None),
        "some": ("62.00", 4, None),
        "positive": (None, 6, 2),
        "named": (None, 4, 2),
        "none": (None, 0, None),
    }
    some = get_check(result, "some")
    assert (some["expected"], some["status"]) == ("57.00", "failed")


@contextmanager
def hide(source: Path) -> Iterator[None]:
    """Take a file away for a while."""
    aside = source.rename(source.with_suffix(".aside"))
    try:
        yield
    finally:
        aside.rename(source)


def finish_checks_without(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let checks finish while a source is away."""
    finish = Evaluation.finish

    def finish_without_source(*arguments: Any) -> Any:
        with hide(source):
            return finish(*arguments)

    monkeypatch.setattr(Evaluation, "finish", finish_without_source)


@pytest.mark.parametrize("is_small", [True, False])
def test_no_source_is_read_again_for_a_check(books: Books, monkeypatch: pytest.MonkeyPatch, is_small: bool) -> None:
    load = parallel.load_table
    finish_checks_without(books.folder / "data" / "ledger" / "2026-01.csv", monkeypatch)
    monkeypatch.setattr(parallel, "load_table", lambda *asked: replace(load(*asked), is_small=is_small))
    books.define(
        "{name: total, output: 20, value: SUM(amount), equals: {input: SUM(amount)}}",
        "{name: journals, output: 20, group_by: [currency], value: COUNT(*), equals: {input: COUNT(journal)}}",
        "{name: total by currency, output: 20, group_by: [currency], value: SUM(doubled),"
        " equals: {input: SUM(amount * 2)}}",
        "{name: period, output: 20, group_by: [_period, _deleted], value: MAX_AGG(_row_id),"
        " equals: {input: MAX_AGG(_row_id)}}",
    )
    result = books.run()
    assert {check["name"]: check["status"] for check in result.report["checks"]} == {
        "total": "passed",
        "journals": "passed",
        "total by currency": "passed",
        "period": "passed",
    }
    assert [check["rows"] for check in result.report["checks"]] == [3, 3, 3, 3]


WITH_JOIN = (
    DOUBLE.replace("amount * 2", "amount * r.lines").replace(
        "arguments: {", "arguments: {joins: [{alias: r, dataset_id: rates, on: currency = r.currency}], "
    ),
    LINES,
)
WITH_APPEND = (
    DOUBLE,
    "{seq: 15, name: Rates, type: append, arguments: {source: {dataset_id: rates}, add_columns: true}}",
    LINES,
)


@pytest.mark.parametrize("operations", [WITH_JOIN, WITH_APPEND], ids=["join", "append"])
def test_dataset_that_checks_and_operations_read_is_read_once(
    books: Books, monkeypatch: pytest.MonkeyPatch, operations: tuple[str, ...]
) -> None:
    source = books.folder / "data" / "rates" / "2026-01.csv"
    source.parent.mkdir(parents=True)
    source.write_text("currency,lines\nEUR,1\nUSD,2\n")
    opened: list[str] = []
    load = parallel.load_table
    finish_checks_without(source, monkeypatch)

    def note(context: Any, table: Any) -> Any:
        opened.append(table.dataset_id)
        return load(context, table)

    monkeypatch.setattr(parallel, "load_table", note)
    books.define(
        "{name: lines, output: 20, value: COUNT(*), equals: {dataset_id: rates, value: SUM(lines)}, on_fail: warn}",
        "{name: currencies, output: 20, group_by: [currency], value: COUNT(*),"
        " equals: {dataset_id: rates, value: SUM(lines)}, on_fail: warn}",
        operations=operations,
        dataset=define_dataset("rates", currency="string", lines="integer"),
    )
    result = books.run()
    assert result.succeeded, result.problems
    assert opened.count("rates") == 1
    lines, currencies = result.report["checks"]
    assert lines["expected"] == "3"
    found = {group["key"]["currency"]: group["expected"] for group in currencies["groups"]}
    assert found == {None: None, "EUR": "1", "USD": "2"}

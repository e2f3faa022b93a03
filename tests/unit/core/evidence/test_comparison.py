"""A comparison for people: within 80 columns, no amount cut, and no value that controls a terminal or a page."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.evidence.comparison import render_comparison, render_comparison_page
from spark_jobs.contract.comparison import ColumnComparison, Comparison, OutputComparison, RowChange

LARGE = "9876543210987654321098765432.0123456789"
NASTY = "a\x1b[31m\nb<script src=http://x>é日本" + "x" * 200


def make_comparison(*columns: ColumnComparison, sample: tuple[RowChange, ...] = ()) -> Comparison:
    made = OutputComparison(20, "out/close", ("k",), 3, 3, 1, 1, 1, 1, columns, sample)
    return Comparison((made,))


def test_columns_that_fit_are_a_table() -> None:
    lines = render_comparison(make_comparison(ColumnComparison("usd", 1, "1.00", "2.50", "1.50"))).splitlines()
    assert lines[-2:] == [
        "  column  changed  total before  total after  difference",
        "  usd           1          1.00         2.50        1.50",
    ]


def test_amounts_that_do_not_fit_side_by_side_are_stacked() -> None:
    columns = ColumnComparison("usd", 1, LARGE, LARGE, "0.01"), ColumnComparison("s", 2)
    lines = render_comparison(make_comparison(*columns)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-7:] == [
        "  usd",
        "    changed       1",
        f"    total before  {LARGE}",
        f"    total after   {LARGE}",
        "    difference    0.01",
        "  s",
        "    changed       2",
    ]


@pytest.mark.parametrize("kind", ["added", "removed", "changed"])
def test_values_of_rows_control_neither_terminal_nor_page(kind: str) -> None:
    values = {"note": NASTY, "other": None}
    row = RowChange(kind, {"k": NASTY[:40]}, None if kind == "added" else values, None if kind == "removed" else values)
    comparison = make_comparison(ColumnComparison("note", 1), sample=(row,))
    for line in render_comparison(comparison).splitlines():
        assert line.isprintable()
        assert len(line) <= 80
    page = render_comparison_page(comparison, NASTY)
    assert not any(word in page for word in ("<script", 'href="', 'src=h"', "<link", "<img"))
    assert "&lt;script" in page


def test_values_of_rows_are_in_the_order_of_the_columns() -> None:
    columns = tuple(ColumnComparison(name) for name in ("z", "k", "a", "amount"))
    row = RowChange("added", {"k": "1"}, None, {"a": "2", "amount": "3", "k": "1", "z": "4"})
    comparison = make_comparison(*columns, sample=(row,))
    assert render_comparison(comparison).splitlines()[-1] == "  + k=1: z=4, a=2, amount=3"
    page = render_comparison_page(comparison, "t")
    assert "z: 4<br>a: 2<br>amount: 3" in page.replace("k: 1<br>", "")


def test_rows_that_do_not_fit_go_on_in_the_next_line() -> None:
    values = {f"column_{number}": f"value {number}" for number in range(6)}
    row = RowChange("removed", {"k": "1"}, values, None)
    columns = tuple(ColumnComparison(name) for name in values)
    assert render_comparison(make_comparison(*columns, sample=(row,))).splitlines()[-2:] == [
        "  - k=1: column_0=value 0, column_1=value 1, column_2=value 2, column_3=value 3,",
        "      column_4=value 4, column_5=value 5",
    ]
    long = RowChange("removed", {"k": "1"}, {"note": "x" * 1000}, None)
    lines = render_comparison(make_comparison(ColumnComparison("note"), sample=(long,))).splitlines()
    assert lines[-1].endswith(" …")
    assert max(map(len, lines)) <= 80

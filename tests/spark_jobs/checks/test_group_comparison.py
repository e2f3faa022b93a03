"""Checks with `group_by`, whose groups the driver or Spark compares."""

from __future__ import annotations

import pytest

from spark_jobs.checks import rows_read
from tests.spark_jobs.checks.books import Books

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("most", [1000, 1])
def test_groups_are_compared_alike_by_driver_and_by_spark(
    books: Books, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    build = rows_read.GroupTotals.__init__
    monkeypatch.setattr(rows_read.GroupTotals, "__init__", lambda self, open: build(self, open, most))
    by = "output: 20, group_by: [currency], value: SUM(amount), on_fail: warn"
    other = "{input: SUM(amount), where: 'amount > 0'}"
    books.define(
        f"{{name: constant, {by}, equals: 10}}",
        f"{{name: near, {by}, equals: 10, tolerance: 4.5}}",
        f"{{name: between, {by}, between: [-1.25, 9.999]}}",
        f"{{name: other, {by}, equals: {other}}}",
        f"{{name: absolute, {by}, equals: {other}, tolerance: 0.01}}",
        f"{{name: percent, {by}, equals: {other}, tolerance: '5%'}}",
        f"{{name: twice, {by}, equals: {{input: SUM(amount * 2)}}, tolerance: '50%'}}",
        "{name: recorded, output: 20, group_by: [currency], value: SUM(amount)}",
        "{name: text, output: 20, group_by: [currency], value: MAX_AGG(journal), equals: {input: MAX_AGG(journal)}}",
    )
    found = {
        check["name"]: (check["status"], check["rows"], [(g["key"]["currency"], g["status"]) for g in check["groups"]])
        for check in books.run().report["checks"]
    }
    passed = [(None, "passed"), ("EUR", "passed"), ("USD", "passed")]
    other_failed = [(None, "warned"), ("EUR", "passed"), ("USD", "passed")]
    assert found == {
        "constant": ("warned", 3, [(None, "warned"), ("USD", "warned"), ("EUR", "passed")]),
        "near": ("warned", 3, [(None, "warned"), ("EUR", "passed"), ("USD", "passed")]),
        "between": ("warned", 3, [("EUR", "warned"), (None, "passed"), ("USD", "passed")]),
        "other": ("warned", 3, other_failed),
        "absolute": ("warned", 3, other_failed),
        "percent": ("warned", 3, other_failed),
        "twice": ("passed", 3, passed),
        "recorded": ("recorded", 3, [(None, "recorded"), ("EUR", "recorded"), ("USD", "recorded")]),
        "text": ("passed", 3, passed),
    }

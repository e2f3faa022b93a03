"""What checks find, from YAML to the report: what blocks and warns, overrides, and what later runs compare with."""

from __future__ import annotations

import pytest

from tests.spark_jobs.checks.books import RIGHT, Books, get_check

pytestmark = pytest.mark.spark


def test_blocking_failures_publish_nothing_and_are_all_reported(books: Books) -> None:
    books.define(
        "{name: positive, output: 20, rows: amount > 0}",
        "{name: other output, output: 30, value: SUM(doubled), equals: {output: 20, value: SUM(amount)}}",
        "{name: fine, output: 30, value: COUNT(*), equals: {input: COUNT(*)}}",
        "{name: watched, output: 30, value: COUNT(*), equals: 4, on_fail: warn}",
    )
    result = books.run()
    assert books.list_published() == []
    assert [(problem.code, problem.location.field) for problem in result.problems] == [
        ("CHECK_001", "checks[0]"),
        ("CHECK_001", "checks[1]"),
    ]
    assert "Check 'positive' failed: 1 of 3 rows does not satisfy amount > 0" in result.problems[0].message
    assert "amount = -1.25" in result.problems[0].message
    assert "28.50, expected 14.25 (SUM(amount) of output 20), difference 14.25" in result.problems[1].message
    statuses = {check["name"]: check["status"] for check in result.report["checks"]}
    assert statuses == {"positive": "failed", "other output": "failed", "fine": "passed", "watched": "warned"}
    (run,) = books.registry.list_runs()
    assert run.status == "failed"
    assert [check["status"] for check in (run.report or {})["checks"]] == ["failed", "failed", "passed", "warned"]


@pytest.mark.parametrize("format", ["csv", "json", "orc"])
def test_outputs_of_every_format_are_checked_on_typed_rows(books: Books, format: str) -> None:
    books.define(
        "{name: nothing lost, output: 20, value: SUM(amount), equals: {input: SUM(amount)}}",
        "{name: currencies, output: 20, rows: currency IS NOT NULL, on_fail: warn}",
        "{name: one row a journal, output: 20, unique: [journal]}",
        format=format,
    )
    result = books.run()
    assert result.succeeded, result.problems
    assert [check["status"] for check in result.report["checks"]] == ["passed", "warned", "passed"]
    assert get_check(result, "nothing lost")["value"] == "14.25"
    assert sorted({place.split("/")[0] for place in books.list_published()}) == ["copy", "lines"]


def test_override_lets_a_check_pass_until_it_is_withdrawn(books: Books) -> None:
    books.define("{name: positive, output: 20, rows: amount > 0}")
    books.registry.add_override("close", "2026-01", "positive", who="ann", reason="a reversal")
    books.registry.add_override("close", "2026-02", "other", who="ann", reason="another period")
    snapshot = books.resolve()
    assert [(entry.check, entry.who, entry.reason) for entry in snapshot.overrides] == [
        ("positive", "ann", "a reversal")
    ]
    result = books.run()
    found = get_check(result, "positive")
    assert (result.succeeded, found["status"]) == (True, "overridden")
    assert (found["override"]["who"], found["override"]["reason"]) == ("ann", "a reversal")
    assert found["override"]["at"] == snapshot.overrides[0].at
    assert any(
        "check 'positive' overridden" in line and "(overridden by ann: a reversal)" in line for line in books.lines
    )
    books.registry.withdraw_override("close", "2026-01", "positive", who="bob")
    again = books.run()
    assert (again.succeeded, get_check(again, "positive")["status"]) == (False, "failed")


def test_check_that_had_another_form_is_not_a_baseline(books: Books) -> None:
    books.define(
        "{name: by currency, output: 20, group_by: [currency], value: SUM(amount), change: {to: 20%}}",
        "{name: many, output: 20, rows: amount > -100}",
    )
    assert books.run("2026-01").succeeded
    books.write("2026-02", RIGHT)
    books.define(
        "{name: by currency, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
        "{name: many, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
    )
    assert [check["status"] for check in books.run("2026-02").report["checks"]] == ["no_baseline", "no_baseline"]


def test_change_compares_with_what_was_published_before(books: Books) -> None:
    checks = (
        "{name: jump, output: 20, value: SUM(amount), change: {from: -20%, to: 20%}}",
        "{name: by currency, output: 20, group_by: [currency], value: SUM(amount), change: {from: -20%}}",
        "{name: again, output: 20, value: COUNT(*), change: {from: 0, to: 0, since: last_publication}, on_fail: warn}",
    )
    books.define(*checks)
    first = books.run("2026-01")
    assert [check["status"] for check in first.report["checks"]] == ["no_baseline"] * 3
    assert "recorded" not in first.report["checks"][1]
    books.write("2026-02", RIGHT.replace("10.00", "12.85"))
    second = books.run("2026-02")
    assert [check["status"] for check in second.report["checks"]] == ["passed", "passed", "no_baseline"]
    assert (get_check(second, "jump")["expected"], get_check(second, "jump")["difference"]) == ("14.25", "2.85")
    books.write("2026-02", RIGHT.replace("10.00", "12.86").replace("5.50", "0.50") + "J4,GBP,5.00\n")
    third = books.run("2026-02")
    assert [check["status"] for check in third.report["checks"]] == ["failed", "failed", "warned"]
    groups = {group["key"]["currency"]: group["status"] for group in get_check(third, "by currency")["groups"]}
    assert groups == {None: "passed", "EUR": "passed", "USD": "failed", "GBP": "failed"}
    assert "it was 14.25 in 2026-01, allowed is a change from -20% to 20%" in third.problems[0].message


@pytest.mark.parametrize(
    ("check", "field"),
    [
        ("{name: numbers, output: 20, value: 'SUM(NUMBER(journal, 5, 0))', between: [0, 5]}", "checks[0].value"),
        ("{name: numbers, output: 20, rows: 'INTEGER(journal) > 0'}", "checks[0].rows"),
        (
            "{name: numbers, output: 20, value: COUNT(*), equals: {input: 'SUM(INTEGER(journal))'}}",
            "checks[0].equals.input",
        ),
    ],
)
def test_value_that_a_check_cannot_compute_is_reported_with_the_check(books: Books, check: str, field: str) -> None:
    books.define(check)
    (problem,) = books.run().problems
    assert (problem.code, problem.location.field) == ("DATA_003", field)
    assert problem.message.startswith("check 'numbers': ")
    assert books.list_published() == []

"""Wrong checks: each gives one problem, with its code, at its place, with its hint."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.core.planning.check.validation import validate_catalog
from tests.unit.core.planning.project_builder import CATALOG, MARK, check_text, output

PROJECT = """
project:
  id: close
  name: close
  version: 1
  input_dataset_id: orders
  operations:
    - {seq: 10, name: set, type: update, arguments: {assignments: [{column: total, expression: amount * 2}]}}
    - %s
    - %s
  checks:
    - %s
"""
LINES = output(", columns: [order_id, region, amount, total, ordered_on, shipped_at, is_paid, _period]", seq=20)
SUMMARY = output(", columns: [order_id, quantity, region]", destination="{datasource_id: lake, table: summary}", seq=30)


def case(name: str, code: str, check: str, message: str, hint: str | None = None) -> object:
    """Return a named case; the mark is in front of the place of the problem."""
    return pytest.param(code, check, message, hint, id=name)


CASES = [
    case("unknown_output", "CHECK_002", "{name: c, output: «25, rows: amount > 0}", "unknown output 25", "outputs are: 20, 30"),
    case("not_an_output", "CHECK_002", "{name: c, output: «10, rows: amount > 0}", "operation 10 is not an output"),
    case("no_kind", "CHECK_002", "«{name: c, output: 20}", "exactly one of rows, unique and value, found none", "add one"),
    case("two_kinds", "CHECK_002", "{name: c, output: 20, rows: amount > 0, value: «COUNT(*)}", "found rows and value"),
    case("two_comparisons", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: 1, between: «[1, 2]}", "found equals and between"),
    case("empty_equals", "CHECK_002", "{name: c, output: 20, value: COUNT(*), «equals: }", "equals is empty"),
    case("tolerance_without_equals", "CHECK_002", "{name: c, output: 20, value: COUNT(*), tolerance: «1}", "tolerance belongs to equals"),
    case("at_most_of_value", "CHECK_002", "{name: c, output: 20, value: COUNT(*), at_most: «1}", "at_most belongs to rows or unique"),
    case("equals_of_rows", "CHECK_002", "{name: c, output: 20, rows: amount > 0, equals: «1}", "equals belongs to value"),
    case("group_by_of_unique", "CHECK_002", "{name: c, output: 20, unique: [order_id], group_by: «[region]}", "group_by belongs to value"),
    case("negative_at_most", "CHECK_002", "{name: c, output: 20, rows: amount > 0, at_most: «-1}", "neither a number of rows"),
    case("half_a_row", "CHECK_002", "{name: c, output: 20, rows: amount > 0, at_most: «0.5}", "neither a number of rows", "0.1%"),
    case("more_than_all_rows", "CHECK_002", "{name: c, output: 20, rows: amount > 0, at_most: «101%}", "neither a number of rows"),
    case("at_most_a_word", "CHECK_002", "{name: c, output: 20, rows: amount > 0, at_most: «few}", "'few' is neither"),
    case("condition_column", "EXPR_002", "{name: c, output: 20, rows: «amont > 0}", "unknown column 'amont'", "'amount'"),
    case("column_not_written", "EXPR_002", "{name: c, output: 20, rows: «quantity > 0}", "unknown column 'quantity'"),
    case("lookup_column", "EXPR_002", "{name: c, output: 20, rows: «regions.code IS NOT NULL}", "unknown table 'regions'", "these rows only"),
    case("condition_syntax", "EXPR_001", "{name: c, output: 20, rows: amount > «> 0}", ""),
    case("not_a_condition", "EXPR_004", "{name: c, output: 20, rows: «amount}", "a condition is needed"),
    case("condition_aggregate", "EXPR_005", "{name: c, output: 20, rows: «SUM(amount) > 0}", "not possible here"),
    case("condition_function", "EXPR_003", "{name: c, output: 20, rows: «NOPE(amount) > 0}", "unknown function"),
    case("named_selector", "EXPR_001", "{name: c, output: 20, rows: «'{{EMEA}}'}".replace("«'", "'«"), "a named selector may be used in a selector"),
    case("where_column", "EXPR_002", "{name: c, output: 20, where: «x = 1, rows: amount > 0}", "unknown column 'x'"),
    case("where_type", "EXPR_004", "{name: c, output: 20, where: «amount, value: COUNT(*)}", "a condition is needed"),
    case("unique_column", "EXPR_002", "{name: c, output: 20, unique: [order_id, «lin]}", "unknown column 'lin' in unique"),
    case("unique_twice", "CHECK_002", "{name: c, output: 20, unique: [order_id, «orders.order_id]}", "is listed twice in unique"),
    case("unique_nothing", "CHECK_002", "{name: c, output: 20, unique: «[]}", "unique needs at least one column"),
    case("value_not_aggregate", "EXPR_005", "{name: c, output: 20, value: «1 + 1}", "no aggregate function"),
    case("value_column_outside", "EXPR_005", "{name: c, output: 20, value: SUM(amount) + «amount}", "is used outside an aggregate"),
    case("group_column", "EXPR_002", "{name: c, output: 20, group_by: [«regio], value: COUNT(*)}", "unknown column 'regio' in group_by", "'region'"),
    case("group_twice", "CHECK_002", "{name: c, output: 20, group_by: [region, «region], value: COUNT(*)}", "is listed twice in group_by"),
    case("constant_kind", "EXPR_004", "{name: c, output: 20, value: SUM(amount), equals: «many}", "'many' is not a number"),
    case("constant_expression", "EXPR_004", "{name: c, output: 20, value: SUM(amount), equals: «SUM(total)}", "is not a number", "{input: SUM(total)}"),
    case("constant_date", "EXPR_004", "{name: c, output: 20, value: MAX_AGG(ordered_on), equals: «2026-02-30}", "is not a date"),
    case("boolean_value", "EXPR_004", "{name: c, output: 20, value: «MAX_AGG(is_paid), equals: 1}", "this is boolean"),
    case("input_type", "EXPR_004", "{name: c, output: 20, value: SUM(amount), equals: {input: «MAX_AGG(region)}}", "cannot be equal"),
    case("date_and_timestamp", "EXPR_004", "{name: c, output: 20, value: MAX_AGG(ordered_on), equals: {input: «MAX_AGG(shipped_at)}}", "cannot be equal"),
    case("input_column", "EXPR_002", "{name: c, output: 20, value: SUM(total), equals: {input: SUM(«total)}}", "unknown column 'total'"),
    case("input_with_value", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: {input: COUNT(*), value: «COUNT(*)}}", "input holds the expression"),
    case("other_without_value", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: «{output: 30}}", "value to compare with is missing"),
    case("two_others", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: «{output: 30, dataset_id: customers, value: COUNT(*)}}", "found output and dataset_id"),
    case("no_other", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: «{value: COUNT(*)}}", "found none"),
    case("other_output", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: {output: «31, value: COUNT(*)}}", "unknown output 31"),
    case("other_dataset", "DATASET_001", "{name: c, output: 20, value: COUNT(*), equals: {dataset_id: «custmers, value: COUNT(*)}}", "dataset 'custmers' not found", "customers"),
    case("other_version", "DATASET_003", "{name: c, output: 20, value: COUNT(*), equals: {dataset_id: customers, dataset_version: «9, value: COUNT(*)}}", "has no version 9"),
    case("other_column", "EXPR_002", "{name: c, output: 20, value: COUNT(*), equals: {dataset_id: customers, value: COUNT(«teir)}}", "unknown column 'teir'", "'tier'"),
    case("other_where", "EXPR_002", "{name: c, output: 20, value: COUNT(*), equals: {output: 30, value: COUNT(*), where: «amount > 0}}", "unknown column 'amount'"),
    case("other_group", "EXPR_002", "{name: c, output: 20, group_by: [total], value: COUNT(*), equals: «{output: 30, value: COUNT(*)}}", "unknown column 'total': both sides"),
    case("version_of_output", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: {output: 30, dataset_version: «1, value: COUNT(*)}}", "belongs to dataset_id"),
    case("tolerance_word", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: 1, tolerance: «small}", "neither a number nor a percentage"),
    case("tolerance_negative", "CHECK_002", "{name: c, output: 20, value: COUNT(*), equals: 1, tolerance: «-1}", "not negative"),
    case("tolerance_of_text", "EXPR_004", "{name: c, output: 20, value: MAX_AGG(region), equals: a, tolerance: «1}", "only numbers and dates"),
    case("tolerance_of_days", "CHECK_002", "{name: c, output: 20, value: MAX_AGG(ordered_on), equals: 2026-01-31, tolerance: «1%}", "whole days"),
    case("between_one", "CHECK_002", "{name: c, output: 20, value: COUNT(*), between: «[1]}", "between has two ends, found 1"),
    case("between_order", "CHECK_002", "{name: c, output: 20, value: COUNT(*), between: «[10, 9]}", "no value is between 10 and 9"),
    case("between_kind", "EXPR_004", "{name: c, output: 20, value: COUNT(*), between: [1, «b]}", "'b' is not a number"),
    case("change_nothing", "CHECK_002", "{name: c, output: 20, value: COUNT(*), change: «{since: last_publication}}", "change has no limit"),
    case("change_order", "CHECK_002", "{name: c, output: 20, value: COUNT(*), change: «{from: 20%, to: -20%}}", "no change is between"),
    case("change_word", "CHECK_002", "{name: c, output: 20, value: COUNT(*), change: {from: «less}}", "neither a number nor a percentage"),
    case("change_of_text", "EXPR_004", "{name: c, output: 20, value: «MAX_AGG(region), change: {to: 1}}", "only numbers and dates"),
    case("repeated_name", "CHECK_002", "{name: c, output: 20, rows: amount > 0}\n    - {name: «c, output: 30, rows: region = \"a\"}", "is used by two checks"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "check", "message", "hint"), CASES)
def test_wrong_check_gives_one_problem_at_its_place(code: str, check: str, message: str, hint: str | None) -> None:
    checked = check_text(PROJECT % (LINES, SUMMARY, check))
    assert [problem.code for problem in checked.problems] == [code], checked.problems
    (problem,) = checked.problems
    assert (problem.location.line, problem.location.column) == checked.expected_places[0], problem
    assert message in problem.message
    assert hint is None or hint in (problem.hint or "")
    assert problem.location.file == "project.yaml"
    assert problem.location.project == "close"
    assert (problem.location.field or "").startswith("checks[")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("[order_id, region, «region]", "is listed twice in key"),
        ("[«quantity]", "column 'quantity' of key is not written by this output"),
        ("«[]", "a key needs at least one column"),
    ],
)
def test_wrong_key_of_an_output_gives_one_problem_at_its_place(key: str, message: str) -> None:
    lines = LINES.replace("columns:", f"key: {key}, columns:")
    checked = check_text(PROJECT % (lines, SUMMARY, "{name: c, output: 20, rows: amount > 0}"))
    assert [problem.code for problem in checked.problems] == ["OUTPUT_001"], checked.problems
    (problem,) = checked.problems
    assert (problem.location.line, problem.location.column) == checked.expected_places[0]
    assert message in problem.message


def test_key_and_check_of_the_same_name_are_refused() -> None:
    lines = LINES.replace("columns:", "key: [order_id], columns:")
    check = f"{{name: {MARK}key of output 20, output: 20, rows: amount > 0}}"
    checked = check_text(PROJECT % (lines, SUMMARY, check))
    assert [problem.code for problem in checked.problems] == ["CHECK_002"]
    assert (checked.problems[0].location.line, checked.problems[0].location.column) == checked.expected_places[0]


def test_mistakes_of_all_checks_are_reported_at_once() -> None:
    checks = "\n    - ".join(
        [
            "{name: a, output: 99, rows: x = 1, at_most: few}",
            "{name: b, output: 20, where: x = 1, value: SUM(y), equals: {dataset_id: nothing, value: COUNT(*)}}",
            "{name: b, output: 20, unique: [z]}",
        ]
    )
    checked = check_text(PROJECT % (LINES, SUMMARY, checks))
    codes = sorted(problem.code for problem in checked.problems)
    assert codes == ["CHECK_002", "CHECK_002", "CHECK_002", "DATASET_001", "EXPR_002", "EXPR_002", "EXPR_002"]


def test_column_that_the_output_names_wrongly_is_reported_only_there() -> None:
    lines = LINES.replace("columns: [order_id", f"columns: [{MARK}ordr_id")
    checked = check_text(PROJECT % (lines, SUMMARY, "{name: c, output: 20, unique: [ordr_id], where: ordr_id = '1'}"))
    assert [problem.code for problem in checked.problems] == ["OUTPUT_001"]


FORM_AND_CONTENT = [
    "{name: a, output: 20, rows: amont > 0, on_fail: wann}",
    "{name: b, output: 20, uniqe: [order_id]}",
    "{output: 20, value: SUM(amont)}",
    "just text",
    "{name: d, output: 20, value: SUM(amount), equals: {inputs: SUM(amount)}}",
    "{name: e, output: 20, unique: order_id, where: amont > 0}",
    "{name: f, output: 99, value: COUNT(*)}",
    "{name: g, output: 20, value: COUNT(*), between: [1, 2]}",
]
FOUND = [
    ("EXPR_002", "checks[0].rows"),
    ("CATALOG_002", "checks[0].on_fail"),
    ("CATALOG_002", "checks[1].uniqe"),
    ("CATALOG_002", "checks[2].name"),
    ("EXPR_002", "checks[2].value"),
    ("CATALOG_002", "checks[3]"),
    ("CATALOG_002", "checks[4].equals.inputs"),
    ("CATALOG_002", "checks[5].unique"),
    ("EXPR_002", "checks[5].where"),
    ("CHECK_002", "checks[6].output"),
]


@pytest.mark.parametrize("project", [None, "close"])
def test_mistakes_in_the_form_of_checks_hide_no_others(tmp_path: Path, project: str | None) -> None:
    text = PROJECT % (LINES, SUMMARY, "\n    - ".join(FORM_AND_CONTENT))
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "project.yaml").write_text(text)
    found = validate_catalog(tmp_path, project=project).problems
    told = [(problem.code, problem.location.field) for problem in found if problem.location.file == "project.yaml"]
    assert sorted(told, key=lambda entry: str(entry[1])) == sorted(FOUND, key=lambda entry: entry[1])


def test_mistake_in_the_form_of_an_operation_is_reported_alone(tmp_path: Path) -> None:
    text = PROJECT % (LINES.replace("type: output", "typ: output"), SUMMARY, FORM_AND_CONTENT[-2])
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "project.yaml").write_text(text)
    found = validate_catalog(tmp_path).problems
    assert {problem.code for problem in found if problem.location.file == "project.yaml"} == {"CATALOG_002"}

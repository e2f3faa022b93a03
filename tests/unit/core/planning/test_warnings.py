"""Warnings: each at the key that it is about, silenced by a comment, and absent where all is well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.explain import command as explain
from airflow_provider_runtime.cli.resolve import command as resolve
from airflow_provider_runtime.cli.validate import command as validate
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.planning.check.warnings import list_project_warnings
from tests.unit.core.planning.project_builder import (
    CATALOG,
    HEAD,
    MARK,
    aggregate,
    append,
    check_operations,
    check_text,
    delete,
    join,
    output,
    update,
)

RATE = join("orders.customer_id = c.id")
AMOUNT = ", columns: [order_id, amount]"
TOTAL = ", columns: [region, total]"


def list_warnings(*operations: str, selectors: str = "") -> tuple[list[Problem], list[tuple[int, int]]]:
    """Return the warnings of a project, and the places that its text marks."""
    checked = check_operations(*operations, selectors=selectors)
    assert [problem for problem in checked.problems if problem.severity == "error"] == []
    return list_project_warnings(checked.project), list(checked.expected_places)


def with_from(operation: str, value: str) -> str:
    return operation.replace(", arguments:", f", from: {value}, arguments:")


def with_selector(operation: str, text: str) -> str:
    return operation.replace(", arguments:", f", selector: {text}, arguments:")


def mark_type(operation: str) -> str:
    return operation.replace("type:", f"{MARK}type:")


SUM = aggregate("SUM(amount)", "total", seq=20)
CASES = {
    "output takes summary rows": ("WARN_001", [SUM, mark_type(output())]),
    "aggregate takes summary rows": (
        "WARN_001",
        [SUM, mark_type(aggregate("SUM(total)", "grand", seq=30, group_by="[status]")), with_from(output(), "[30]")],
    ),
    "total over summary rows": (
        "WARN_001",
        [SUM, mark_type(update("TOTAL(amount BY status)", "grand", seq=30)), with_from(output(), "all")],
    ),
    "pairs of summary rows": (
        "WARN_001",
        [SUM, mark_type(append("budget", ", expand: {alias: b, on: orders.region = b.region, columns: "
                               "[{column: amount, expression: b.amount}]}", seq=30)), with_from(output(), "[30]")],
    ),
    "CASE without ELSE": (
        "WARN_002",
        [
            update("CASE WHEN c.discount > 0 THEN c.discount END", "d", more=RATE).replace(
                "expression:", f"{MARK}expression:"
            ),
            output(),
        ],
    ),
    "CASE whose condition is TRUE without a match": (
        "WARN_002",
        [
            update("CASE WHEN c.tier = 'A' OR amount > 1 THEN c.discount ELSE 0 END", "d", more=RATE).replace(
                "expression:", f"{MARK}expression:"
            ),
            output(),
        ],
    ),
    "column of a join reaches an output": (
        "WARN_002",
        [update("c.tier", "tier", more=RATE).replace("expression:", f"{MARK}expression:"), output()],
    ),
    "column of a join is summed": (
        "WARN_002",
        [
            update("c.discount", "d", more=RATE).replace("expression:", f"{MARK}expression:"),
            aggregate("SUM(amount * d)", seq=20),
            with_from(output(TOTAL), "[20]"),
        ],
    ),
    "column computed from one of a join": (
        "WARN_002",
        [
            update("c.discount", "d", more=RATE, seq=5).replace("expression:", f"{MARK}expression:"),
            update("amount * d", "discounted", seq=10).replace("expression:", f"{MARK}expression:"),
            output(),
        ],
    ),
    "join": ("WARN_003", [update("amount * 2", "amount", more=RATE.replace("alias:", f"{MARK}alias:")), output()]),
    "compared with NULL": (
        "WARN_004",
        [delete("status = NULL").replace("selector:", f"{MARK}selector:"), output()],
    ),
    "update that nothing sees": (
        "WARN_005",
        [mark_type(update("amount * 2", "twice")), output(AMOUNT)],
    ),
    "delete after the last output": ("WARN_005", [output(seq=10), mark_type(delete("amount = 0", seq=20))]),
    "aggregate after the last output": ("WARN_005", [output(seq=10), mark_type(SUM)]),
    "aggregate that no output takes": ("WARN_005", [mark_type(SUM), with_from(output(), "loaded")]),
    "append that no output takes": ("WARN_005", [mark_type(append("budget", seq=20)), with_from(output(), "[0]")]),
    "append after the last output": ("WARN_005", [output(seq=10), mark_type(append("budget", seq=20))]),
    "registered without a key": (
        "WARN_006",
        [output(f"{AMOUNT}, {MARK}register_as_dataset: Orders out")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_warning_points_at_its_key(name: str) -> None:
    code, operations = CASES[name]
    warnings, places = list_warnings(*operations)
    assert [warning.code for warning in warnings] == [code] * len(places)
    assert [(warning.location.line, warning.location.column) for warning in warnings] == places
    assert all(warning.severity == "warning" and warning.hint for warning in warnings)
    assert all(warning.location.operation_seq is not None for warning in warnings)


FINE = {
    "selector on the origin": [SUM, with_selector(output(), "_operation_seq = 20")],
    "from: loaded": [SUM, output(TOTAL, seq=30).replace(", arguments:", ", from: [20], arguments:"),
                     with_from(output(AMOUNT, destination="{datasource_id: lake, table: b}"), "loaded")],
    "from: all": [SUM, with_from(output(), "all")],
    "summary rows deleted": [SUM, with_from(output(TOTAL, seq=30), "[20]"), delete("_operation_seq = 20", seq=40),
                             output(AMOUNT, destination="{datasource_id: lake, table: b}")],
    "COALESCE": [update("\"COALESCE(c.tier, 'none')\"", "tier", more=RATE), output()],
    "ISNULL": [update("\"IF(ISNULL(c.tier), 'none', c.tier)\"", "tier", more=RATE), output()],
    "CASE": [update("\"CASE WHEN c.tier IS NULL THEN 'none' ELSE c.tier END\"", "tier", more=RATE), output()],
    "CASE that only compares": [update("\"CASE WHEN c.tier = 'A' THEN 1 ELSE 0 END\"", "is_a", more=RATE), output()],
    "IF that asks for a match": [
        update("\"IF(c.tier = 'A' AND amount > 1, c.discount, 0)\"", "d", more=RATE), output()],
    "CASE that asks for a match": [
        update('"CASE WHEN NOT c.discount = 1 THEN amount WHEN c.tier IN (\'a\') THEN c.discount ELSE 0 END"',
               "d", more=RATE), output()],
    "CASE of values that asks for a match": [
        update('"CASE c.tier WHEN \'A\' THEN c.discount ELSE 0 END"', "d", more=RATE), output()],
    "total of loaded rows": [SUM, update("TOTAL(amount BY status)", "grand", seq=30, selector="_operation_seq = 0"),
                             with_from(output(), "all")],
    "rows that a total looks at": [append("budget", seq=20), update("TOTAL(amount BY status)", "grand", seq=30),
                                   with_from(output(), "loaded")],
    "selector asks for a match": [update("c.tier", "tier", more=RATE, selector="c.tier != 'none'"), output()],
    "filled later": [update("c.tier", "tier", more=RATE, seq=5),
                     update("\"'none'\"", "tier", seq=6, selector="tier IS NULL"), output()],
    "output leaves NULLs out": [update("c.tier", "tier", more=RATE), with_selector(output(), "tier IS NOT NULL")],
    "guarded in the sum": [update("c.discount", "d", more=RATE), aggregate('"SUM(amount * COALESCE(d, 0))"', seq=20),
                           with_from(output(TOTAL), "[20]")],
    "join of a join": [update("b.note", "n", more=RATE.replace("}], ", "}, {alias: b, dataset_id: plan, "
                       "on: b.kind = c.tier}], ")).replace("b.note", "\"COALESCE(b.note, '')\""), output()],
    "no output yet": [update("amount * 2", "twice")],
    "key": [output(f"{AMOUNT}, key: [order_id], register_as_dataset: Orders out")],
    "not registered": [output(AMOUNT)],
    "conditions that depend on rows": [delete("\"status IN ('a', NULL) OR amount > 1 AND amount < 5\""), output()],
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_no_warning_where_all_is_well(name: str) -> None:
    assert list_warnings(*FINE[name])[0] == []


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("amount = NULL", "never"),
        ("NOT (amount = NULL)", "never"),
        ("amount + NULL > 1", "never"),
        ("status NOT IN ('a', NULL)", "never"),
        ("status IN (NULL)", "never"),
        ("amount BETWEEN 10 AND 1", "never"),
        ("status = 'a' AND status = 'b'", "never"),
        ("amount > 5 AND amount < 3", "never"),
        ("amount > 5 AND amount < 5", "never"),
        ("amount >= 5 AND amount < 5", "never"),
        ("amount >= 5 AND amount <= 5", None),
        ("status IS NULL AND status = 'a'", "never"),
        ("ISNULL(status) AND LEN(status) > 1", "never"),
        ("status IS NULL AND (status = 'a' OR amount > 1)", None),
        ("status IS NULL AND region = 'a'", None),
        ("CASE WHEN status = NULL THEN amount > 1 ELSE amount > 2 END", "never"),
        ("IF(amount = NULL, FALSE, amount > 1)", "never"),
        ("1 = 2", "never"),
        ("1 = 1", "always"),
        ("NULL IS NULL", "always"),
        ("status != 'a' OR status != 'b'", "always"),
        ("amount > 5 OR TRUE", "always"),
        ("amount > 5 AND amount < 7", None),
        ("status IN ('a', NULL)", None),
        ("amount BETWEEN 1 AND 10", None),
        ("COALESCE(amount, NULL) = 1", None),
        ("TODAY() > DATE('2026-01-01')", None),
        ("amount = 1 OR amount = 2", None),
        ("is_paid", None),
    ],
)
def test_condition_that_depends_on_no_row(condition: str, verdict: str | None) -> None:
    warnings, _ = list_warnings(delete(f'"{condition}"'), output())
    found = [warning.message for warning in warnings if warning.code == "WARN_004"]
    assert len(found) == (verdict is not None)
    assert verdict is None or verdict in found[0]


def test_condition_of_case_and_result_of_case() -> None:
    first = update('"CASE WHEN amount = NULL THEN 0 ELSE amount END"', "amount", seq=5)
    second = update('"CASE status WHEN NULL THEN 0 ELSE c.discount END"', "d", more=RATE, seq=6)
    assert [warning.code for warning in list_warnings(first, second, output())[0]] == [
        "WARN_002",
        "WARN_004",
        "WARN_004",
    ]


def test_condition_of_if_and_of_join() -> None:
    first = update('"IF(amount = NULL, 0, amount)"', "amount", seq=5)
    second = update("\"COALESCE(c.tier, '')\"", "status", more=join("TRUE"), seq=6)
    assert [warning.code for warning in list_warnings(first, second, output())[0]] == ["WARN_004", "WARN_004"]


@pytest.mark.parametrize(
    "expression",
    ["CASE status WHEN NULL THEN 1 ELSE 2 END", "CASE NULL WHEN status THEN 1 END", "CASE 1 WHEN 2 THEN amount END"],
)
def test_value_of_case_that_nothing_equals(expression: str) -> None:
    warnings, _ = list_warnings(update(f'"{expression}"', "n"), output())
    assert [warning.message for warning in warnings] == ["a condition in this expression can never be TRUE"]


@pytest.mark.parametrize("expression", ["COUNT_IF(amount = NULL)", "SUM_IF(amount, status IN (NULL))"])
def test_condition_of_a_conditional_aggregate(expression: str) -> None:
    warnings, _ = list_warnings(aggregate(f'"{expression}"', seq=20), with_from(output(TOTAL), "[20]"))
    assert [warning.code for warning in warnings] == ["WARN_004"]


@pytest.mark.parametrize(
    ("source", "selector", "is_told"),
    [
        ("loaded", "_operation_seq = 20", True),
        ("[20]", "total > 1 AND _operation_seq IN (0, 30)", True),
        ("[20]", "_operation_seq > 20", True),
        ("[0, 20]", "_operation_seq = 20", False),
        ("[20]", "_operation_seq >= 20 AND _operation_seq != 0", False),
    ],
)
def test_selector_of_which_from_leaves_nothing(source: str, selector: str, is_told: bool) -> None:
    warnings, _ = list_warnings(SUM, with_from(with_selector(output(), f'"{selector}"'), source))
    assert [warning.code for warning in warnings] == ["WARN_004"] * is_told


def test_join_condition_without_its_alias() -> None:
    joined = update("\"COALESCE(c.tier, '')\"", "status", more=join("status = 'new'"))
    (warning,) = list_warnings(joined, output())[0]
    assert (warning.code, warning.location.field) == ("WARN_004", "operations[0].arguments.joins[0].on")
    assert "'c'" in warning.message


def test_conditions_of_checks() -> None:
    head = HEAD.replace("  operations:", "  checks:\n" + CHECKS + "  operations:")
    checked = check_text(head + f"    - {output()}\n")
    found = [(warning.code, warning.location.field) for warning in list_project_warnings(checked.project)]
    fields = ["checks[0].rows", "checks[1].value", "checks[2].where", "checks[2].equals.where"]
    assert found == [("WARN_004", field) for field in fields]


CHECKS = """    - {name: a, output: 90, rows: amount = NULL}
    - {name: b, output: 90, value: COUNT_IF(amount = NULL)}
    - {name: c, output: 90, where: status = NULL, value: SUM(amount), equals: {input: SUM(amount), where: 1 = 2}}
"""


def test_named_selector_that_nothing_uses() -> None:
    warnings, _ = list_warnings(delete('"{{A}}"'), output(), selectors="A: amount = 0, B: amount = 1")
    assert [(warning.code, warning.location.field) for warning in warnings] == [("WARN_003", "selectors.B")]


@pytest.mark.parametrize(
    ("more", "codes"),
    [(f"{AMOUNT}", ["WARN_006"]), (f"{AMOUNT}, key: [order_id]", [])],
    ids=["without a key", "with a key"],
)
def test_output_that_is_compared(more: str, codes: list[str]) -> None:
    compared = HEAD.replace("  operations:", "  publication: {compare: true}\n  operations:")
    checked = check_text(f"{compared}    - {output(more)}\n")
    assert [warning.code for warning in list_project_warnings(checked.project)] == codes


@pytest.mark.parametrize(
    "seqs",
    ["[30]", "[90]", "[5, 20]"],
    ids=["not there", "itself", "an update"],
)
def test_from_names_an_operation_that_makes_no_rows_before(seqs: str) -> None:
    checked = check_operations(update("amount * 2", "amount", seq=5), SUM, with_from(output(), seqs))
    assert [problem.code for problem in checked.problems] == ["CATALOG_002"]
    assert "does not make rows before operation 90" in checked.problems[0].message


@pytest.mark.parametrize("value", ["some", "[]", "[a]", "20", "[true]"])
def test_from_that_is_not_an_origin(value: str) -> None:
    from airflow_provider_runtime.core.catalog.loader import load_texts

    text = HEAD + f"    - {with_from(output(), value)}\n"
    problems = load_texts({"catalog.yaml": CATALOG, "project.yaml": text}).problems
    assert [(problem.code, problem.location.field) for problem in problems] == [("CATALOG_002", "operations[0].from")]


def test_from_and_selector_both_hold() -> None:
    checked = check_operations(SUM, with_from(with_selector(output(), "total > 5"), "[20, 0]"))
    where = checked.project.operations[-1].where
    assert where is not None
    assert where.columns == {(None, "total"), (None, "_operation_seq")}


DOUBLED = """project:
  id: close
  name: close
  version: 1
  input_dataset_id: orders
  operations:
    - seq: 10
      name: sum
      type: aggregate
      arguments:
        group_by: [region]
        aggregations: [{column: total, expression: SUM(amount)}]
    - seq: 20
      name: write
      type: output
      arguments:
        destination: {datasource_id: lake, table: out}
"""


@pytest.mark.parametrize(
    ("before", "after", "is_silenced"),
    [
        ("", " # ok: WARN_001 totals stand below their lines", True),
        ("      # ok: WARN_001 totals stand below their lines\n", "", True),
        ("      # ok: WARN_002, WARN_001 both are wanted\n      # a second line\n", "", True),
        ("      # ok: WARN_002 another one\n", "", False),
        ("      # not ok: WARN_001\n", "", False),
        ("", "", False),
    ],
)
def test_comment_silences_one_warning(before: str, after: str, is_silenced: bool) -> None:
    text = DOUBLED.replace("      type: output\n", f"{before}      type: output{after}\n")
    warnings = list_project_warnings(check_text(text).project)
    assert [warning.code for warning in warnings] == ([] if is_silenced else ["WARN_001"])


DATASETS = """datasource: {id: lake, type: parquet, path_prefix: data}
---
resolver:
  id: all
  version: 1
  is_default: true
  rules: [{name: all, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}]
---
dataset:
  id: orders
  name: Orders
  version: 1
  main_table: {name: orders, columns: [{name: region, type: string}, {name: amount, type: decimal}]}
  lookups:
    - alias: regions
      target: {type: table, name: regions, columns: [{name: code, type: string}]}
      join_conditions: [{source_column: region, target_column: code}]
---
dataset:
  id: spare
  name: Spare
  version: 1
  main_table: {name: spare, columns: [{name: amount, type: decimal}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "datasets.yaml").write_text(DATASETS)
    (tmp_path / "catalog" / "close.yaml").write_text(DOUBLED)
    return tmp_path / "catalog"


def list_found(output: str) -> list[str]:
    errors = json.loads(output)["errors"]
    assert {error["severity"] for error in errors} <= {"warning"}
    return [f"{error['code']} {error['file']}:{error['line']}" for error in errors]


def test_validate_reports_warnings_and_strict_counts_them(folder: Path) -> None:
    arguments = ["--catalog", str(folder), "--format", "json"]
    result = CliRunner().invoke(validate, arguments)
    unused = ["WARN_003 datasets.yaml:15", "WARN_003 datasets.yaml:20"]
    assert list_found(result.stdout) == ["WARN_001 close.yaml:15", *unused]
    assert (result.exit_code, json.loads(result.stdout)["valid"]) == (0, True)

    strict = CliRunner().invoke(validate, [*arguments, "--strict"])
    assert list_found(strict.stdout) == list_found(result.stdout)
    assert (strict.exit_code, json.loads(strict.stdout)["valid"]) == (1, False)


def test_validate_of_one_project_leaves_unused_datasets_out(folder: Path) -> None:
    result = CliRunner().invoke(validate, ["--catalog", str(folder), "--project", "close", "--format", "json"])
    assert list_found(result.stdout) == ["WARN_001 close.yaml:15"]


def test_validate_as_text_and_for_github(folder: Path) -> None:
    text = CliRunner().invoke(validate, ["--catalog", str(folder)]).output
    assert "WARN_001 output 20 writes the summary rows of operation 10 as well" in text
    assert text.endswith("valid: 2 datasets, 1 project\n")
    github = CliRunner().invoke(validate, ["--catalog", str(folder), "--format", "github"]).output
    assert github.startswith("::warning file=")
    assert "valid" not in CliRunner().invoke(validate, ["--catalog", str(folder), "--strict"]).output


def test_project_with_errors_shows_these_first(folder: Path) -> None:
    (folder / "close.yaml").write_text(DOUBLED.replace("SUM(amount)", "SUM(amuont)"))
    result = CliRunner().invoke(validate, ["--catalog", str(folder), "--format", "json"])
    assert [error["code"] for error in json.loads(result.stdout)["errors"]] == ["EXPR_002"]


def test_explain_and_resolve_show_warnings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    explained = CliRunner().invoke(explain, ["--project", "close", "--format", "json"], catch_exceptions=False)
    assert list_found(explained.stdout) == ["WARN_001 close.yaml:15"]
    shown = CliRunner().invoke(explain, ["--project", "close"], catch_exceptions=False).output
    assert "WARN_001" in shown
    arguments = ["--project", "close", "--period", "2026-01"]
    resolved = CliRunner().invoke(resolve, arguments, catch_exceptions=False)
    assert "WARN_001 output 20" in resolved.stderr
    assert "WARN_001" not in resolved.stdout

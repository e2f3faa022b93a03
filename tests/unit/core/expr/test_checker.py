# ruff: noqa: E501
"""Types, names and places of aggregates."""

import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.parser import parse
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_equalities, compile_sql
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, make_decimal
from tests.effort import count_steps
from tests.unit.core.expr.formatter import format_expression

NOW = datetime(2026, 2, 1, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
COLUMNS = {"a": make_decimal(), "b": make_decimal(), "w": make_decimal(38, 18), "i": INTEGER, "j": INTEGER,
           "s": STRING, "d": DATE, "ok": BOOLEAN}  # fmt: skip
SCOPE = Scope(
    Relation("t", "working", {name: ScopeColumn(kind) for name, kind in COLUMNS.items()}),
    {"fx": Relation("fx", "join", {"rate": ScopeColumn(make_decimal(18, 8)), "s": ScopeColumn(STRING)})},
    {"E": "s = 'x'", "R": "{{E}}", "B": "i + ", "N": "i"},
)
GOLDEN = Path(__file__).parent / "golden" / "expressions.txt"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i * j - 1", "integer"), ("i / j", "decimal(26,6)"), ("a * b", "decimal(38,12)"), ("a / b", "decimal(30,10)"),
        ("i + a", "decimal(27,6)"), ("ROUND(a, 2)", "decimal(17,2)"), ("FLOOR(a)", "decimal(15,0)"), ("FLOOR(i)", "integer"),
        ("IF(ok, i, 1.5)", "decimal(21,1)"), ("w > 0", "boolean"), ("-9223372036854775808", "integer"),
        ("9223372036854775808", "decimal(19,0)"), ("TODAY()", "date"), ("NULL + i", "integer"),
    ],
)  # fmt: skip
def test_type_of_an_expression_follows_the_rules(text, expected):
    assert str(check_expression(text, SCOPE).expression.type) == expected


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        ("a + s", "EXPR_004", 4), ("w * w * w", "EXPR_004", 0), ("foo(a)", "EXPR_003", 0), ("LEN(s, 2)", "EXPR_003", 0),
        ("1 + amount", "EXPR_002", 4), ("fx.rat", "EXPR_002", 0), ("x.y", "EXPR_002", 0), ("SUM(a)", "EXPR_005", 0),
        ("{{Q}}", "SELECTOR_001", 0), ("{{R}}", "EXPR_001", 0), ("{{B}}", "EXPR_001", 3), ("{{N}}", "EXPR_004", 0),
        ("w = a * b * 1.0000000", "EXPR_004", 0), ("ROUND(a, 13)", "EXPR_004", 9), ("DATE(i)", "EXPR_004", 5), ("DATE(5)", "EXPR_001", 5), ("A", "EXPR_002", 0),
        ("1" * 39, "EXPR_004", 0),
    ],
)  # fmt: skip
def test_wrong_expression_gives_its_code_and_place(text, code, start):
    problem = check_expression(text, SCOPE).problems[0]
    assert (problem.code, problem.start) == (code, start)


def test_all_problems_of_an_expression_are_reported():
    problems = check_expression("q + r > LEN(a) AND {{Z}}", SCOPE).problems
    assert [problem.code for problem in problems] == ["EXPR_002", "EXPR_002", "EXPR_004", "SELECTOR_001"]
    assert problems[-1].message == "Selector 'Z' not defined in Project"


@pytest.mark.parametrize("text", ["a", "SUM(SUM(a))", "1", "SUM(a) + b"])
def test_aggregate_expression_needs_every_column_inside_one_aggregate(text):
    assert check_expression(text, SCOPE, aggregate=True).problems[0].code == "EXPR_005"


def test_equalities_of_a_condition_are_found_on_both_sides():
    condition = check_expression("fx.s = t.s AND fx.rate > 1 AND (i = j OR ok)", SCOPE).expression
    assert compile_equalities(condition, "fx", run=RUN) == [("`@w`.`s`", "`@@fx`.`s`")]


def test_text_constant_is_escaped_for_spark():
    checked = check_expression("'a\\n''$\x00`\"'", SCOPE).expression
    assert compile_sql(checked, run=RUN) == r"""'a\\n\'\u0024\u0000`"'"""


def test_emitted_sql_is_as_in_the_golden_file():
    texts = [line for line in GOLDEN.read_text().splitlines() if line and not line.startswith("    ")]
    lines = []
    for text in texts:
        checked = check_expression(text, SCOPE, aggregate="SUM" in text or "AVG" in text).expression
        lines.append(f"{text}\n    {compile_sql(checked, run=RUN, mark='10:x')}\n")
    assert "".join(lines) == GOLDEN.read_text()


def test_if_does_not_evaluate_the_other_branch():
    checked = check_expression("IF(ok, i * 9000000000000000000, 1)", SCOPE).expression
    assert evaluate(checked, {(None, "ok"): False, (None, "i"): 9}, run=RUN) == 1


def test_quotient_is_rounded_half_up_once():
    checked = check_expression("a / 3", SCOPE).expression
    assert evaluate(checked, {(None, "a"): Decimal("2")}, run=RUN) == Decimal("0.6666666667")


@pytest.mark.parametrize("opening", ["ABS(", "MIN(1, MAX(2, ", "IF(ok, 1, ", "COALESCE(1, ", "-"])
def test_expression_of_200_levels_is_checked_compiled_and_evaluated(opening):
    count = 200 // max(opening.count("("), 1)
    text = opening * count + "i" + ")" * (opening.count("(") * count)
    checked = check_expression(text, SCOPE).expression
    assert compile_sql(checked, run=RUN)
    assert evaluate(checked, {(None, "i"): 1, (None, "ok"): False}, run=RUN) is not None


def test_recursion_limit_is_as_before_after_a_deep_expression():
    before = sys.getrecursionlimit()
    text = "ABS(" * 199 + "i" + ")" * 199
    checked = check_expression(text, SCOPE).expression
    compile_sql(checked, run=RUN)
    evaluate(checked, {(None, "i"): 1}, run=RUN)
    assert format_expression(parse(text)) == text
    check_expression(text + " +", SCOPE)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("text", "code", "start", "hint"),
    [
        ("CASE WHEN a THEN 1 END", "EXPR_004", 10, None), ("CASE WHEN ok THEN 1 ELSE s END", "EXPR_004", 0, None),
        ("CASE s WHEN 1 THEN 2 END", "EXPR_004", 0, None), ("a LIKE 'x'", "EXPR_004", 0, "TEXT(x) makes text of it"),
        ("s || i", "EXPR_004", 5, "TEXT(x) makes text of it; conditions are joined by OR"), ("TEXT(s)", "EXPR_004", 0, None),
        ("NUMBER(s, 39, 0)", "EXPR_004", 10, None), ("NUMBER(s, 5, 6)", "EXPR_004", 13, None),
        ("NUMBER(s, i, 0)", "EXPR_004", 10, None), ("INTEGER(i)", "EXPR_004", 8, None),
        ("POWER(a, 11)", "EXPR_004", 9, None), ("POWER(a, i)", "EXPR_004", 9, None),
        ("POWER(w, 3)", "EXPR_004", 0, "ROUND the base to fewer decimal places"), ("SIGN(d)", "EXPR_004", 5, None),
        ("DATE_TRUNC('day', d)", "EXPR_004", 11, None), ("DATE_TRUNC(s, d)", "EXPR_004", 11, None),
        ("PAD_LEFT(s, 3, 'ab')", "EXPR_004", 15, None), ("PAD_RIGHT(s, 3, s)", "EXPR_004", 16, None),
        ("ROUNDUP(a, i)", "EXPR_004", 11, None), ("NULLIF(a, s)", "EXPR_004", 0, None),
        ("MONTHS_BETWEEN(d, s)", "EXPR_004", 18, 'DATE(s) makes a date of it; one is written DATE("YYYY-MM-DD")'),
        ("PERIOD_ID(1)", "EXPR_003", 0, "write PERIOD_ID()"), ("COUNT_IF(ok)", "EXPR_005", 0, None),
        ("IFNULL(a, 0)", "EXPR_003", 0, "use COALESCE(x, …)"), ("NVL(a, 0)", "EXPR_003", 0, "use COALESCE(x, …)"),
        ("SUBSTR(s, 2)", "EXPR_003", 0, "use SUBSTRING(s, from[, n])"), ("LENGTH(s)", "EXPR_003", 0, "use LEN(s)"),
        ("a & b", "EXPR_001", 2, "use AND for conditions, || for texts"),
        ("ok | ok", "EXPR_001", 3, "use OR for conditions, || for texts"),
        ("a == b", "EXPR_001", 3, "equality is written with one ="),
        ("a * 0,95", "EXPR_001", 5, "a decimal is written with a point: 0.95"),
        ("ROUND(a * 0,95)", "EXPR_004", 12, "a decimal is written with a point: 0.95"),
        ("IF(a > 0,5, 1, 2)", "EXPR_003", 0, "a decimal is written with a point: 0.5"),
        ("CASE ok THEN 1 END", "EXPR_001", 8, "write CASE WHEN condition THEN value ELSE value END"),
        ("COUNT(DISTINCT a)", "EXPR_001", 15, "use COUNT_DISTINCT(x)"),
        ("TOTAL(a BY s)", "EXPR_005", 0, "put its value into a column with an earlier update"),
        ("ABS(a BY s)", "EXPR_001", 0, "write ABS(x)"),
    ],
)  # fmt: skip
def test_misused_word_is_placed_and_the_right_one_is_suggested(text, code, start, hint):
    problem = check_expression(text, SCOPE).problems[0]
    assert (problem.code, problem.start) == (code, start)
    if hint is not None:
        assert problem.hint == hint


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("OR()", "EXPR_003"),
        ("NOT(flag, flag)", "EXPR_003"),
        ("NOT()", "EXPR_003"),
        ("COUNT()", "EXPR_005"),
        ("SUM(*)", "EXPR_005"),
        ("`a`", "EXPR_001"),
    ],
)
def test_one_mistake_in_a_call_gives_one_problem(text, code):
    assert [problem.code for problem in check_expression(text, SCOPE).problems] == [code]


def test_steps_of_checking_a_list_grow_with_it():
    texts = [f"1 IN ({', '.join(map(str, range(size)))})" for size in (500, 1000)]
    assert [check_expression(text, SCOPE).problems for text in texts] == [(), ()]
    steps = [count_steps(lambda text=text: check_expression(text, SCOPE)) for text in texts]
    assert steps[1] < 2.2 * steps[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TOTAL(a BY s)", "decimal(38,6)"), ("TOTAL(i)", "integer"), ("SHARE(i BY s, d)", "decimal(26,6)"),
        ("RANK(s DESC BY d)", "integer"), ("RUNNING(a ORDER d DESC BY s)", "decimal(38,6)"),
        ("PREVIOUS_VALUE(s ORDER d)", "string"), ("ALLOCATE(100.00, a BY s)", "decimal(5,2)"),
        ("ROUND(a - TOTAL(a * fx.rate BY s), 2)", "decimal(27,2)"),
    ],
)  # fmt: skip
def test_group_function_has_a_type_where_it_is_possible(text, expected):
    result = check_expression(text, replace(SCOPE, allows_groups=True))
    assert str(result.expression.type) == expected, result.problems


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        ("TOTAL(SHARE(a))", "EXPR_005", 6), ("TOTAL(a ORDER d)", "EXPR_003", 0), ("TOTAL(a DESC)", "EXPR_003", 0),
        ("RUNNING(a BY s)", "EXPR_003", 0), ("RANK(a ORDER d)", "EXPR_003", 0), ("TOTAL(s)", "EXPR_004", 6),
        ("ALLOCATE(a BY s)", "EXPR_003", 0), ("TOTAL(a BY q)", "EXPR_002", 11), ("TOTAL(a, i BY s)", "EXPR_003", 0),
        ("ALLOCATE(a, s)", "EXPR_004", 12), ("RUNNING(a ORDER)", "EXPR_001", 15), ("TOTAL(a BY)", "EXPR_001", 10),
    ],
)  # fmt: skip
def test_wrong_use_of_a_group_function_is_placed(text, code, start):
    problem = check_expression(text, replace(SCOPE, allows_groups=True)).problems[0]
    assert (problem.code, problem.start) == (code, start)

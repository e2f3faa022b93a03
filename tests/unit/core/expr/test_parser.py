"""Texts that are expressions, texts that are not, and what is said about them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.core.expr.parser import parse
from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError
from tests.unit.core.expr.formatter import format_expression

GOOD = [
    "NOT(a) = b AND x.y IN (1, 2.50) OR OR(a, b) AND NOT z BETWEEN 1 + 2 * 3 AND --4",
    "a = NOT(b)",
    "sum(a * b) / count(*)",
    "\"a\"\"b\" = 'it''s'",
    "-(-a) - (b - c) - d",
    '{{ X }} AND DATE("2026-01-31") > d',
    "a IS NOT NULL = b",
    "a.b NOT IN (NULL, TRUE)",
    "a = b = c",
    "CASE WHEN a THEN b WHEN NOT c THEN -d ELSE e END + 1",
    "CASE a WHEN 1 THEN CASE WHEN b THEN 2 END WHEN 3 THEN 4 END",
    "CASE (CASE WHEN a THEN 1 END) WHEN -1 THEN b END",
    "a LIKE '%x_' AND NOT b NOT LIKE 'a!%%' ESCAPE '!' OR c LIKE ''",
    "a || b || 'c' = d || UPPER(e)",
    "case + when - then * else / end",
    "like LIKE 'a' AND escape NOT LIKE 'b' ESCAPE 'c' AND NOT like LIKE 'd'",
    "CASE case WHEN 1 THEN case ELSE when END",
    "CASE when WHEN 1 THEN 2 END",
    "CASE WHEN when THEN case - 1 WHEN then = end THEN case WHEN else THEN order END",
    "CASE -a WHEN 1 THEN 2 END",
    "CASE NOT a WHEN TRUE THEN case.x ELSE order.desc END",
    "by * order - desc",
    "TOTAL(a BY b, c + 1) / RANK(by DESC BY order, desc) - RUNNING(a ORDER order DESC BY by)",
    "PREVIOUS_VALUE(desc ORDER by) + ALLOCATE(a, b BY c) * RANK(a) + SHARE(a) + RANK(a DESC)",
]


@pytest.mark.parametrize("text", GOOD)
def test_format_of_a_tree_parses_to_the_same_tree(text):
    tree = parse(text)
    assert parse(format_expression(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message", "start"),
    [
        ("(a + ", "expected a value after '+'", 4),
        ("(a", "missing closing bracket", 0),
        ("a)", "closing bracket without an opening one", 1),
        ('DATE("2026-02-30")', "the date 2026-02-30 does not exist", 5),
        ('a = "abc', "the text is not closed", 4),
        ("a b", "unexpected 'b'", 2),
        ("", "the expression is empty", 0),
        ("CASE WHEN a THEN 1", "CASE without END", 18),
        ("CASE a THEN 1 END", "unexpected 'THEN'", 7),
        ("a LIKE b", "LIKE needs a constant text, found 'b'", 7),
        ("a LIKE '!x' ESCAPE '!'", "the escape '!' is before 'x'", 7),
        ("a LIKE 'x!' ESCAPE '!'", "the escape '!' is at the end", 7),
        ("a LIKE 'x' ESCAPE 'ab'", "ESCAPE needs a text of one character", 18),
        ("(" * 1_000_000, "the expression is nested deeper than 200 levels", 200),
        ("NOT " * 240_000 + "a", "the expression is nested deeper than 200 levels", 0),
        ("-" * 1_000_000, "the expression is nested deeper than 200 levels", 0),
    ],
)
def test_text_that_is_not_an_expression_is_explained(text, message, start):
    with pytest.raises(ExpressionSyntaxError) as caught:
        parse(text)
    assert (caught.value.problem.message, caught.value.problem.start) == (message, start)
    assert caught.value.problem.code == "EXPR_001"


def test_nesting_of_200_levels_is_accepted_and_201_is_not():
    assert parse("(" * 200 + "a" + ")" * 200)
    with pytest.raises(ExpressionSyntaxError):
        parse("(" * 201 + "a" + ")" * 201)
    assert parse("NOT " * 200 + "a")
    with pytest.raises(ExpressionSyntaxError):
        parse("NOT " * 201 + "a")


@pytest.mark.parametrize(
    ("opening", "closing", "most"),
    [
        ("DATEADD(", ", 1)", 100),
        ("ROUND(a / (", "), 2)", 50),
        ("MAX(a, COALESCE(", ", a))", 16),
        ("COALESCE(a, ", ")", 200),
        ("ABS(", ")", 200),
        ("ADDMONTHS(", ", 1)", 40),
        ("PAD_LEFT(", ", 1, ' ')", 40),
        ("CASE (", ") WHEN 1 THEN 2 END", 5),
        ("CASE WHEN a THEN ", " END", 200),
    ],
)
def test_what_costs_spark_more_counts_as_more_levels(opening, closing, most):
    assert parse(opening * most + "a" + closing * most)
    with pytest.raises(ExpressionSyntaxError) as caught:
        parse(opening * (most + 1) + "a" + closing * (most + 1))
    assert caught.value.problem.code == "EXPR_001"
    assert "an earlier update" in caught.value.problem.hint


def test_chain_of_3000_operands_is_one_level():
    assert len(parse("+".join(["a"] * 3000)).operands) == 3000


def test_dashes_inside_a_text_do_not_count_as_nesting():
    assert parse("s = '" + "-" * 500 + "(" * 500 + "'")


COLUMNS = st.sampled_from(["a", "case", "when", "then", "else", "end", "like", "escape", "by", "order", "desc"])
LEAVES = COLUMNS | st.sampled_from(["1", "'x'", "t.case", "NULL", "{{when}}"])


def join_words(*words):
    return st.tuples(*[st.just(word) if isinstance(word, str) else word for word in words]).map(" ".join)


def extend(parts):
    branch = join_words("WHEN", parts, "THEN", parts)
    otherwise = st.just("") | join_words("ELSE", parts)
    pattern = st.sampled_from(["LIKE '%'", "NOT LIKE '_' ESCAPE '!'", "IS NULL", "IN (1, case)", "BETWEEN end AND 2"])
    return st.one_of(
        join_words(parts, st.sampled_from(["+", "-", "||", "=", "AND", "OR"]), parts),
        join_words(parts, pattern),
        join_words(st.sampled_from(["NOT", "-"]), parts),
        join_words("(", parts, ")"),
        join_words("CASE", branch, branch, otherwise, "END"),
        join_words("CASE", parts, branch, otherwise, "END"),
        join_words("IF(", parts, ",", parts, ",", parts, ")"),
    )


@given(st.recursive(LEAVES, extend, max_leaves=12))
def test_words_that_are_keywords_in_some_places_keep_the_tree(text):
    try:
        tree = parse(text)
    except ExpressionSyntaxError:
        return
    assert parse(format_expression(tree)) == tree


@given(st.text(alphabet=st.sampled_from("ab1.\"'`(){}+-*/<>=|, \\\n\x00ANDORNOTé😀"), max_size=40))
def test_any_text_gives_a_tree_or_a_problem(text):
    try:
        tree = parse(text)
    except ExpressionSyntaxError as error:
        assert 0 <= error.problem.start <= error.problem.end <= len(text)  # noqa: PT017
    else:
        assert parse(format_expression(tree)) == tree


@pytest.mark.parametrize(
    "text",
    [
        "CASE end WHEN 1 THEN 2 END",
        "CASE when WHEN then THEN else ELSE end END",
        "CASE WHEN when = 1 THEN end ELSE case END",
        "CASE desc WHEN 1 THEN case ELSE -order END + like",
        "CASE WHEN like LIKE 'a' ESCAPE '!' THEN escape END",
        "CASE else WHEN CASE WHEN a THEN then END THEN by END",
    ],
)
def test_columns_named_like_keywords_need_no_quotes_inside_case(text: str) -> None:
    is_column = re.compile(r"\b[a-z]+\b(?!')")
    qualified = parse(is_column.sub(lambda found: f"t.{found[0]}", text))
    assert _forget_tables(repr(parse(text))) == _forget_tables(repr(qualified))


def _forget_tables(shown: str) -> str:
    return re.sub(r"(start|end|depth)=\d+, |table=('t'|None), ", "", shown)


def test_meaningless_text_of_keywords_is_rejected_quickly() -> None:
    with pytest.raises(ExpressionSyntaxError):
        parse("CASE WHEN a THEN b " + "WHEN b THEN case " * 400)

"""Joins over OR and its relatives: hashed, and with the matches that their condition says."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession, functions

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_alternatives, compile_sql
from airflow_provider_runtime.core.model.schema import INTEGER
from spark_jobs.contract.operations import Join
from spark_jobs.contract.sql import WORKING
from spark_jobs.errors import JobError
from spark_jobs.rows.executor import execute
from spark_jobs.rows.joins import JoinSide, join_plainly
from tests.spark_jobs.plan_builders import PlanBuilder, join, memory, run, start, table
from tests.spark_jobs.test_plans import FolderSinks

pytestmark = pytest.mark.spark
RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31))
SCOPE = Scope(
    Relation("t", "working", {name: ScopeColumn(INTEGER) for name in ("a", "b")}),
    {"x": Relation("x", "join", {name: ScopeColumn(INTEGER) for name in ("p", "q")})},
)
SHAPES = (
    "a = x.p OR a = x.q",
    "a = x.p OR b = x.p",
    "a IN (x.p, x.q)",
    "x.p IN (a, b)",
    "b > 0 AND (a = x.p OR a = x.q)",
    "(a = x.p AND b > 0) OR (a = x.q AND x.p IS NULL)",
    "a = x.p OR (a IS NULL AND x.p IS NULL)",
    "COALESCE(a = x.p, a IS NULL AND x.p IS NULL)",
    "IF(a IS NULL, x.p IS NULL, a = x.p)",
    "IF(a = x.p, TRUE, FALSE)",
    "a = x.p OR a = x.q OR b = x.p OR b = x.q",
)
GRID = "SELECT v.a, w.b FROM VALUES (NULL), (1), (2), (3) AS v(a) CROSS JOIN VALUES (NULL), (1), (2), (3) AS w(b)"


def compile_condition(text: str) -> tuple[str, tuple[str, ...]]:
    checked = check_expression(text, SCOPE).expression
    assert checked is not None, text
    return compile_sql(checked, run=RUN), tuple(compile_alternatives(checked, "x", run=RUN, mark="m"))


def join_over(text: str) -> dict[str, Any]:
    condition, alternatives = compile_condition(text)
    reads = [{"column": name, "alias": alias} for alias, name in ((None, "a"), (None, "b"), ("x", "p"), ("x", "q"))]
    written = {"condition": condition, "alternatives": list(alternatives), "reads": reads, "key": ["a"]}
    return join("x", "x", ["name"]) | written


def plan_over(rows: list[tuple[str | None, ...]], dimension: list[tuple[str | None, ...]]) -> PlanBuilder:
    plan = start([("a", "bigint"), ("b", "bigint")], memory(["a", "b"], *rows))
    plan.tables["x"] = table(
        [("p", "bigint"), ("q", "bigint"), ("name", "string")], memory(["p", "q", "name"], *dimension)
    )
    return plan


def plan_one_join(text: str, *tables: list[tuple[str | None, ...]]) -> PlanBuilder:
    return plan_over(*tables).update(("found", "string", "`@@x`.`name`"), joins=[join_over(text)])


def test_no_pair_of_rows_is_tried_where_an_equality_is_in_every_branch(spark: SparkSession, tmp_path: Path) -> None:
    """All shapes in one run: each is joined for an update and for the selector of a delete."""
    plan = plan_over([("1", "2"), (None, "3")], [("1", "1", "one"), ("5", "6", "other")])
    reads = [{"column": "name", "alias": "x"}]
    for text in SHAPES:
        plan.update(("found", "string", "`@@x`.`name`"), joins=[join_over(text)])
        plan.delete("`@@x`.`name` = 'nobody'", joins=[join_over(text)], where_reads=reads)
    sinks = FolderSinks(tmp_path)
    execute(spark, plan.output("a", "found").snapshot(), sinks)
    assert sinks.plans[0].count("HashJoin") >= 2 * len(SHAPES)
    assert "NestedLoop" not in sinks.plans[0]
    assert "Cartesian" not in sinks.plans[0]


def test_match_by_two_branches_of_one_row_counts_once(spark: SparkSession) -> None:
    """The same row of the dimension in both columns is one match, and is reported with its name."""
    found = run(spark, plan_one_join("a = x.p OR a = x.q", [("1", None)], [("1", "1", "one")]).output("a", "found"))
    assert found.rows(20) == [(1, "one")]


def test_two_rows_found_by_different_branches_are_two_matches(spark: SparkSession) -> None:
    plan = plan_one_join("a = x.p OR a = x.q", [("1", None)], [("1", None, "one"), (None, "1", "other")])
    with pytest.raises(JobError) as raised:
        run(spark, plan.output("a", "found"))
    assert raised.value.problems[0].code == "JOIN_010"
    assert "more than one match for 'x' in operation 10: a = 1" in raised.value.problems[0].message


COMPARISONS = st.sampled_from(
    [f"{row} = x.{own}" for row in "ab" for own in "pq"] + ["a > b", "x.p < x.q", "a IS NULL", "x.p IS NULL", "TRUE"]
)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds("({} OR {})".format, inner, inner),
        st.builds("({} AND {})".format, inner, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("IF({}, {}, {})".format, inner, inner, inner),
        st.builds("(CASE WHEN {} THEN {} END)".format, inner, inner),
        st.builds("NOT ({})".format, inner),
        st.sampled_from(["a IN (x.p, x.q)", "x.q IN (a, b)", "a NOT IN (x.p, x.q)"]),
    ),
    max_leaves=5,
)


@given(conditions=st.lists(CONDITIONS, min_size=40, max_size=40))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_ways_find_each_match_of_the_condition_once(spark: SparkSession, conditions: list[str]) -> None:
    """Over all small values, NULL included: exactly one way is TRUE where the condition is, and none elsewhere."""
    tested = []
    for text in conditions:
        condition, alternatives = compile_condition(text)
        ways = Join("x", "x", (), condition, "m", alternatives=alternatives).ways
        found = " + ".join(f"CAST(coalesce({way}, FALSE) AS int)" for way in ways)
        tested.append(f"every(({found}) = CAST(coalesce({condition}, FALSE) AS int))")
    rows = spark.sql(GRID).alias(WORKING)
    own = spark.sql(GRID).selectExpr("struct(a AS p, b AS q) AS `@@x`")
    result = rows.crossJoin(own).selectExpr(*tested).first()
    assert result is not None
    assert [text for text, is_right in zip(conditions, result, strict=True) if not is_right] == []


def test_plain_join_distinguishes_no_match_one_and_several(spark: SparkSession) -> None:
    """Over all small values, NULL included, what hash joins find is what trying all pairs finds."""
    spark.sql(GRID).selectExpr("a AS p", "b AS q", "'n' AS name").createOrReplaceTempView("grid_of_pairs")
    rows = spark.sql(GRID)
    joins = [plan_one_join(text, [], []).snapshot().plan.operations[0].joins[0] for text in SHAPES]
    own = spark.table("grid_of_pairs").selectExpr("struct(p, q) AS `@@x`")
    counts = [functions.expr(f"least(count_if({joined.condition}), 2)") for joined in joins]
    expected = rows.alias(WORKING).crossJoin(own).groupBy("a", "b").agg(*counts).collect()
    for number, (text, joined) in enumerate(zip(SHAPES, joins, strict=True)):
        found = join_plainly(rows, joined, JoinSide("grid_of_pairs", {}, None))
        counted = found.groupBy("a", "b").agg(functions.expr("least(count(`@@x`), 2)")).collect()
        assert {row[:2]: row[2] for row in counted} == {row[:2]: row[2 + number] for row in expected}, text

"""The five operations on small tables."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal as D

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.report import JoinReport
from spark_jobs.errors import JobError
from tests.spark_jobs.plan_builders import join, memory, run, start, table

TX = [("id", "string"), ("currency", "string"), ("amount", "decimal(18,2)")]
ROWS = memory(
    ["id", "currency", "amount"],
    ("a", "EUR", "8500"),
    ("b", "GBP", "22000.00"),
    ("c", "JPY", "2500000"),
    ("d", None, None),
)
RATES = [("code", "string"), ("rate", "decimal(18,6)")]
RATE_ROWS = memory(["code", "rate"], ("EUR", "1.0920"), ("GBP", "1.2710"), ("JPY", "0.00672"))
CONVERT = ("reporting", "decimal(18,2)", "CAST(`@w`.`amount` * `@@fx`.`rate` AS decimal(18,2))")


def test_update_without_selector_touches_all_rows(spark: SparkSession) -> None:
    plan = start(TX, ROWS).update(("amount", "decimal(18,2)", "CAST(`@w`.`amount` + 1 AS decimal(18,2))"))
    result = run(spark, plan.output("id", "amount", "_updated_at"))
    moment = datetime(2026, 2, 1)
    assert result.rows(20) == [
        ("a", D("8501.00"), moment),
        ("b", D("22001.00"), moment),
        ("c", D("2500001.00"), moment),
        ("d", None, moment),
    ]
    assert result.affected() == [4, 4]
    assert result.after() == [4, 4]
    assert result.report.rows_in == 4


def test_update_with_selector_touches_only_where_true(spark: SparkSession) -> None:
    plan = start(TX, ROWS).update(("big", "boolean", "TRUE"), where="`@w`.`amount` > 10000")
    result = run(spark, plan.output("id", "big", "_updated_at"))
    assert [(row[0], row[1], row[2] is None) for row in result.rows(20)] == [
        ("a", None, True),
        ("b", True, False),
        ("c", True, False),
        ("d", None, True),
    ]
    assert result.affected() == [2, 4]


def test_assignments_see_the_values_before(spark: SparkSession) -> None:
    plan = start(TX, ROWS).update(("id", "string", "`@w`.`currency`"), ("currency", "string", "`@w`.`id`"))
    assert run(spark, plan.output("id", "currency")).rows(20)[0] == ("EUR", "a")


def test_join_gives_the_match_or_null(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    plan.update(CONVERT, joins=[join("fx", "fx", ["rate"], ("currency", "code"))]).output("id", "reporting")
    assert run(spark, plan).rows(20) == [("a", D("9282.00")), ("b", D("27962.00")), ("c", D("16800.00")), ("d", None)]


def test_report_counts_the_touched_rows_with_and_without_a_match(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    joins = [join("fx", "fx", ["rate"], ("currency", "code")) | {"counted": True}]
    plan.update(CONVERT, joins=joins).update(CONVERT, joins=joins, where="`@w`.`id` IN ('a', 'd')").output("id")
    operations = run(spark, plan).report.operations
    assert [operation.joins for operation in operations] == [
        (JoinReport("fx", 3, 1),),
        (JoinReport("fx", 1, 1),),
        (),
    ]


def test_join_with_a_second_match_names_alias_and_key(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, memory(["code", "rate"], ("EUR", "1"), ("GBP", "2"), ("GBP", "3")))
    plan.update(CONVERT, joins=[join("fx", "fx", ["rate"], ("currency", "code"))]).output()
    with pytest.raises(
        JobError, match=r"JOIN_010: more than one match for 'fx' in operation 10: currency = GBP"
    ) as caught:
        run(spark, plan)
    assert caught.value.mark == "join fx"
    assert caught.value.exit_code == 11


def test_join_with_a_second_match_for_an_untouched_row_is_not_an_error(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, memory(["code", "rate"], ("EUR", "2"), ("GBP", "2"), ("GBP", "3")))
    joins = [join("fx", "fx", ["rate"], ("currency", "code"))]
    plan.update(CONVERT, joins=joins, where="`@w`.`currency` = 'EUR'").output("id", "reporting")
    assert run(spark, plan).rows(20)[0] == ("a", D("17000.00"))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("`@@fx`.`rate` > 1.2", {"b"}),
        ("`@@fx`.`rate` IS NULL", {"d"}),
        ("`@@fx`.`rate` IS NULL OR `@w`.`id` = 'a'", {"a", "d"}),
        ("`@w`.`id` = 'z' AND `@@fx`.`rate` > 0", set()),
    ],
)
def test_selector_over_an_alias_picks_by_the_match(spark: SparkSession, where: str, expected: set[str]) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    joins = [join("fx", "fx", ["rate"], ("currency", "code"))]
    plan.update(("hit", "boolean", "TRUE"), joins=joins, where=where, where_aliases=["fx"]).output("id", "hit")
    assert {row[0] for row in run(spark, plan).rows(20) if row[1]} == expected


def test_selector_over_an_alias_fails_when_a_touched_row_has_another_match(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, memory(["code", "rate"], ("EUR", "1"), ("GBP", "2"), ("GBP", "9")))
    joins = [join("fx", "fx", ["rate"], ("currency", "code"))]
    plan.update(CONVERT, joins=joins, where="`@@fx`.`rate` > 5", where_aliases=["fx"]).output()
    with pytest.raises(JobError, match="currency = GBP"):
        run(spark, plan)


def test_selector_over_an_alias_leaves_untouched_doubles_alone(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, memory(["code", "rate"], ("EUR", "7"), ("GBP", "2"), ("GBP", "3")))
    joins = [join("fx", "fx", ["rate"], ("currency", "code"))]
    plan.update(("hit", "boolean", "TRUE"), joins=joins, where="`@@fx`.`rate` > 5", where_aliases=["fx"]).output(
        "id", "hit"
    )
    assert [row for row in run(spark, plan).rows(20) if row[1]] == [("a", True)]


def test_selector_over_two_aliases_picks_by_any_combination(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    plan.tables["cc"] = table(
        [("code", "string"), ("region", "string")], memory(["code", "region"], ("EUR", "E"), ("JPY", "A"))
    )
    joins = [join("fx", "fx", ["rate"], ("currency", "code")), join("cc", "cc", ["region"], ("currency", "code"))]
    where = "`@@fx`.`rate` > 1 AND (`@@cc`.`region` = 'E' OR `@@cc`.`region` IS NULL)"
    plan.update(("region", "string", "`@@cc`.`region`"), joins=joins, where=where, where_aliases=["fx", "cc"])
    result = run(spark, plan.output("id", "region", "_updated_at"))
    assert [(row[0], row[1]) for row in result.rows(20) if row[2]] == [("a", "E"), ("b", None)]


def test_join_may_use_an_earlier_alias_and_inequalities(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    plan.tables["band"] = table(
        [("low", "decimal(18,2)"), ("high", "decimal(18,2)"), ("name", "string")],
        memory(["low", "high", "name"], ("0", "1", "low"), ("1", "2", "high")),
    )
    condition = "`@@band`.`low` <= `@@fx`.`rate` AND `@@fx`.`rate` < `@@band`.`high`"
    joins = [
        join("fx", "fx", ["rate"], ("currency", "code")),
        join("band", "band", ["name"], condition=condition),
    ]
    plan.update(("band", "string", "`@@band`.`name`"), joins=joins).output("id", "band")
    assert run(spark, plan).rows(20) == [("a", "high"), ("b", "high"), ("c", "low"), ("d", None)]


def test_deleted_rows_stay_but_are_seen_by_nobody(spark: SparkSession) -> None:
    plan = start(TX, ROWS).delete("`@w`.`currency` = 'EUR'").update(("currency", "string", "'X'"))
    plan.output("id", "currency").output("id", "currency", "_deleted", include_deleted=True)
    result = run(spark, plan)
    assert [row[0] for row in result.rows(30)] == ["b", "c", "d"]
    assert result.rows(40)[0] == ("a", "EUR", True)
    assert result.affected() == [1, 3, 3, 4]
    assert result.after() == [3, 3, 3, 3]


def test_update_without_selector_counts_all_rows_that_are_there(spark: SparkSession) -> None:
    plan = start(TX, ROWS).output("id").delete("`@w`.`currency` = 'EUR'")
    plan.aggregate(["currency"], ("n", "bigint", "count(1)")).update(("currency", "string", "'X'"))
    result = run(spark, plan.output("currency"))
    assert result.rows(50) == [("X",)] * 6
    assert result.affected() == [4, 1, 3, 6, 6]
    assert result.after() == [4, 3, 6, 6, 6]


def test_aggregate_appends_one_row_a_group(spark: SparkSession) -> None:
    plan = start(TX, memory(["id", "currency", "amount"], ("a", "E", "1"), ("b", "E", "2"), ("c", None, "5")))
    plan.aggregate(["currency"], ("total", "decimal(38,2)", "sum(`@w`.`amount`)"))
    plan.aggregate(["currency"], ("n", "bigint", "count(1)")).output(
        "id", "currency", "total", "n", "_operation_seq", "_period"
    )
    result = run(spark, plan)
    assert result.rows(30) == sorted(
        [
            ("a", "E", None, None, 0, "2026-01"),
            ("b", "E", None, None, 0, "2026-01"),
            ("c", None, None, None, 0, "2026-01"),
            (None, "E", D("3.00"), None, 10, "2026-01"),
            (None, None, D("5.00"), None, 10, "2026-01"),
            (None, "E", None, 3, 20, "2026-01"),
            (None, None, None, 2, 20, "2026-01"),
        ],
        key=repr,
    )
    assert result.affected() == [2, 2, 7]
    assert result.after() == [5, 7, 7]


def test_append_fills_columns_and_replaces_system_columns(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    source = memory(["code", "rate", "_labels"], ("EUR", "1", "x"), ("GBP", "2", "y"))
    plan.tables["b"] = table(RATES, source, role="append", dataset="budgets")
    plan.append("b", ("currency", "string", "`@w`.`code`"), where="`@w`.`rate` > 1")
    result = run(spark, plan.output("id", "currency", "_source_dataset", "_operation_seq", "_labels"))
    assert result.rows(20)[-1] == (None, "GBP", "budgets", 10, "")
    assert result.affected() == [1, 5]


def test_append_with_aggregation_groups_the_source(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    source = memory(["code", "rate"], ("E", "1"), ("E", "2"), ("G", "4"))
    plan.tables["b"] = table(RATES, source, role="append", dataset="budgets")
    plan.append(
        "b",
        ("currency", "string", "`@w`.`code`"),
        ("amount", "decimal(18,2)", "CAST(`@w`.`total` AS decimal(18,2))"),
        group_by=["code"],
        aggregations=[("total", "decimal(38,6)", "sum(`@w`.`rate`)")],
    )
    result = run(spark, plan.output("currency", "amount", where="`@w`.`_operation_seq` = 10"))
    assert result.rows(20) == [("E", D("3.00")), ("G", D("4.00"))]


def test_operations_after_the_last_output_still_fail(spark: SparkSession) -> None:
    plan = (
        start(TX, ROWS)
        .output("id")
        .update(("amount", "decimal(18,2)", "CAST(/*@20:0*/ `@w`.`amount` * 10000000000000000 AS decimal(18,2))"))
    )
    with pytest.raises(JobError, match="DATA_003") as caught:
        run(spark, plan)
    assert caught.value.mark == "20:0"
    assert "column 'amount'" in caught.value.message


def test_value_that_overflows_fails_even_when_no_output_has_it(spark: SparkSession) -> None:
    plan = (
        start(TX, ROWS).update(("tiny", "decimal(3,0)", "CAST(/*@10:0*/ `@w`.`amount` AS decimal(3,0))")).output("id")
    )
    with pytest.raises(JobError, match=r"value 8500\.00 does not fit column 'tiny'"):
        run(spark, plan)


def test_timestamps_of_the_run_are_utc(spark: SparkSession) -> None:
    row = run(spark, start(TX, ROWS).output("_created_at", "_created_by_run")).rows(10)[0]
    assert row == (datetime(2026, 2, 1, tzinfo=UTC).replace(tzinfo=None), "run-1")


def test_join_that_nothing_uses_still_fails_on_a_second_match(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, memory(["code", "rate"], ("GBP", "2"), ("GBP", "3")))
    plan.update(("id", "string", "'x'"), joins=[join("fx", "fx", [], ("currency", "code"))]).output("currency")
    with pytest.raises(JobError, match="currency = GBP"):
        run(spark, plan)


def test_operations_over_earlier_joins_filter_and_join_again(spark: SparkSession) -> None:
    plan = start(TX, ROWS)
    plan.tables["fx"] = table(RATES, RATE_ROWS)
    joins = [join("fx", "fx", ["rate", "code"], ("currency", "code"))]
    between = "`@@fx`.`rate` BETWEEN 0 AND nullif(`@w`.`amount`, 0)"
    plan.update(("kind", "string", "`@@fx`.`code`"), joins=joins, where=between, where_aliases=["fx"])
    plan.delete("`@@fx`.`code` = `@w`.`kind` AND `@@fx`.`rate` > 1.2", joins=joins, where_aliases=["fx"])
    plan.aggregate(["kind"], ("n", "bigint", "count(1)"), joins=joins, where="`@@fx`.`rate` > 0", where_aliases=["fx"])
    result = run(spark, plan.output("id", "kind", "n", where="`@w`.`kind` IS NOT NULL"))
    assert result.rows(40) == [("a", "EUR", None), ("c", "JPY", None), (None, "EUR", 1), (None, "JPY", 1)]
    assert result.affected() == [3, 1, 2, 4]


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.chaos)])
def test_project_of_many_operations_runs(spark: SparkSession, count: int) -> None:
    plan = start([("id", "bigint"), ("n", "bigint")], memory(["id", "n"], ("1", "0"), ("2", "5")))
    for _ in range(count - 1):
        plan.update(("n", "bigint", "`@w`.`n` + 1"), where="`@w`.`id` = 1")
    result = run(spark, plan.output("id", "n"))
    assert result.rows(10 * count) == [(1, count - 1), (2, 5)]
    assert {item.rows_affected for item in result.report.operations} == {1, 2}

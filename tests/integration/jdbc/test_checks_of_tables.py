"""Checks of outputs that are database tables: judged on the stage table, before the table is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.checks.evaluation import CheckSources, Evaluation
from spark_jobs.checks.failing_rows import FailingRows
from spark_jobs.contract.checks import Check, CheckedValue, CheckResult
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.sinks.publish import Publication
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import make_rows, make_snapshot, stage

pytestmark = [pytest.mark.spark, pytest.mark.integration]

CHECKS = (
    Check(
        name="total",
        kind="value",
        output=50,
        on_fail="block",
        mark="m",
        value=CheckedValue(sql="sum(`@w`.`amount`)", type="decimal(38,6)", shown="SUM(amount)", output=50),
        constant="4.5",
    ),
    Check(
        name="named",
        kind="rows",
        output=50,
        on_fail="block",
        mark="m",
        condition="`@w`.`name` IS NOT NULL",
        shown="name IS NOT NULL",
        not_null=("name",),
        columns=("name",),
    ),
    Check(name="one row a name", kind="unique", output=50, on_fail="block", mark="m", unique=("name",)),
)


def stage_checked(spark: SparkSession, output: OutputOperation, rows: DataFrame) -> Publication:
    snapshot = make_snapshot([output])
    snapshot = replace(snapshot, plan=replace(snapshot.plan, checks=CHECKS))
    publication = Publication(spark, snapshot, 1)
    publication.begin()
    stage(publication, snapshot, [rows])
    publication.seal()
    return publication


def check(spark: SparkSession, publication: Publication) -> Sequence[CheckResult]:
    def refuse(*_: object) -> DataFrame:
        raise AssertionError("nothing else is read")

    evaluation = Evaluation(CHECKS, CheckSources(publication, refuse, refuse), FailingRows(spark, None))
    try:
        return evaluation.finish({})
    finally:
        evaluation.stop()


def test_checks_see_the_rows_of_the_stage_table(spark: SparkSession, warehouse: Warehouse) -> None:
    publication = stage_checked(spark, make_table_output(warehouse), make_rows(spark, ["a", "b", "c"]))
    assert [(found.status, found.rows) for found in check(spark, publication)] == [("passed", 3)] * 3
    assert not warehouse.query("SELECT 1 FROM pg_tables WHERE tablename = 'fx'")
    publication.publish()
    assert read_table(warehouse) == ["a", "b", "c"]


def test_value_that_the_database_holds_is_judged_and_not_what_was_sent(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    publication = stage_checked(spark, make_table_output(warehouse), make_rows(spark, ["a", "b", "c"]))
    (name,) = list_stage_tables(warehouse)
    warehouse.connection.execute(f"UPDATE {name} SET amount = amount + 0.000001, name = NULL WHERE id > 0")  # type: ignore[call-overload]
    total, named, unique = check(spark, publication)
    assert (total.status, total.value, total.difference) == ("failed", "4.500002", "0.000002")
    assert (named.status, named.failing_rows) == ("failed", 2)
    assert (unique.status, unique.failing_rows) == ("failed", 2)
    assert {row["name"] for row in named.sample} == {None}
    publication.abandon()
    assert list_stage_tables(warehouse) == []

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import (
    COLUMNS,
    make_rows,
    make_slice,
    make_snapshot,
    publish,
    read_names,
)

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_publish_replaces_its_period_and_nothing_else(spark: SparkSession, warehouse: Warehouse) -> None:
    output = make_table_output(warehouse)
    january, february = make_snapshot([output]), make_snapshot([output], period="2026-02")
    publish(spark, january, 1, [make_rows(spark, ["a", "b"], parts=2)])
    publish(spark, february, 1, [make_rows(spark, ["f"], period="2026-02")])
    (report,) = publish(spark, january, 2, [make_rows(spark, ["c"])])
    assert report.rows == 1
    assert read_table(warehouse) == ["c", "f"]
    publish(spark, january, 3, [make_rows(spark, ["x"]).where("id < 0")])
    assert read_table(warehouse) == ["f"]
    assert list_stage_tables(warehouse) == []


@pytest.mark.parametrize("option", [{"BatchSize": "zap"}, {"numpartitions": "0"}])
def test_option_whose_value_makes_no_sense_is_not_worth_a_retry(
    spark: SparkSession, warehouse: Warehouse, option: dict[str, str]
) -> None:
    output = make_table_output(warehouse)
    options = {"URL": warehouse.jdbc_url, **option}
    output = replace(output, destination=replace(output.destination, options=options))
    with pytest.raises(JobError, match="OUTPUT_002"):
        publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["a"], parts=1)])


def test_overwrite_replaces_every_row(spark: SparkSession, warehouse: Warehouse) -> None:
    publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])
    output = make_table_output(warehouse, write_mode="overwrite")
    publish(spark, make_snapshot([output], period="2026-02"), 1, [make_rows(spark, ["b"], period="2026-02")])
    assert read_table(warehouse) == ["b"]


def test_finer_periods_of_the_input_are_replaced_with_the_run_period(spark: SparkSession, warehouse: Warehouse) -> None:
    output = make_table_output(warehouse)
    snapshot = make_snapshot([output], period="2026-Q1", input_periods=["2026-01", "2026-02"])
    for attempt in (1, 2):
        rows = make_rows(spark, ["a"]).union(make_rows(spark, ["b"], period="2026-Q1"))
        publish(spark, snapshot, attempt, [rows])
    assert read_table(warehouse) == ["a", "b"]


def test_rows_of_periods_that_the_input_has_no_more_are_replaced_too(spark: SparkSession, warehouse: Warehouse) -> None:
    """A resolver that read files of months, then one file of the quarter, then months again."""
    output = make_table_output(warehouse)
    months = make_snapshot([output], period="2026-Q1", input_periods=["2026-01", "2026-02"])
    quarter = make_snapshot([output], period="2026-Q1", sha256="b" * 64)
    rows = make_rows(spark, ["a"]).union(make_rows(spark, ["b"], period="2026-02"))
    for attempt in (1, 3):
        publish(spark, months, attempt, [rows])
        assert read_table(warehouse) == ["a", "b"]
        publish(spark, quarter, attempt + 1, [make_rows(spark, ["a", "b", "c"], period="2026-Q1")])
        assert read_table(warehouse) == ["a", "b", "c"]


def test_rows_that_another_run_has_written_since_are_not_taken_for_those_brought_along(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """January and February brought rows of the year along; then another run came to write those of 2026-Q1."""
    output = make_table_output(warehouse)
    january = make_snapshot([output], input_periods=["2026", "2026-Q1"])
    february = make_snapshot([output], period="2026-02", input_periods=["2026"])
    quarter = make_snapshot([output], period="2026-Q1")
    publish(spark, january, 1, [make_rows(spark, ["jan"], period="2026")])
    publish(spark, february, 1, [make_rows(spark, ["feb"], period="2026")])
    publish(spark, quarter, 1, [make_rows(spark, ["quarter"], period="2026-Q1")])
    publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])
    assert read_table(warehouse) == ["feb", "new", "quarter"]


def test_rows_of_a_foreign_period_are_refused(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    with pytest.raises(JobError, match="1 rows belong to another period") as refused:
        publish(spark, snapshot, 1, [make_rows(spark, ["a"], period="2025-12")])
    assert (refused.value.code, refused.value.mark) == ("OUTPUT_002", "output:50")


@pytest.mark.parametrize("table", ['fx"; DROP TABLE kept; --', "Ünï`côde", "select"])
def test_hostile_names_are_names(spark: SparkSession, warehouse: Warehouse, table: str) -> None:
    warehouse.connection.execute("CREATE TABLE kept (a int)")
    columns = tuple(replace(column, name='a"b' if column.name == "name" else column.name) for column in COLUMNS)
    output = make_table_output(warehouse, table, columns=columns)
    for attempt in (1, 2):
        publish(spark, make_snapshot([output]), attempt, [make_rows(spark, ["x"]).withColumnRenamed("name", 'a"b')])
    quoted = table.replace('"', '""')
    assert warehouse.query(f'SELECT "a""b" FROM "{quoted}"') == [("x",)]
    assert warehouse.query("SELECT count(*) FROM kept") == [(0,)]


def test_table_in_a_schema_keeps_ledger_and_stage_there(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE SCHEMA finance")
    publish(spark, make_snapshot([make_table_output(warehouse, "finance.fx")]), 1, [make_rows(spark, ["a"])])
    assert warehouse.query("SELECT name FROM finance.fx") == [("a",)]
    assert {name for (name,) in warehouse.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")} == set()


def test_schema_is_not_taken_for_one_that_looks_alike(spark: SparkSession, warehouse: Warehouse) -> None:
    for schema in ("finxa", "fin_a"):
        warehouse.connection.execute(f"CREATE SCHEMA {schema}")
        publish(spark, make_snapshot([make_table_output(warehouse, f"{schema}.fx")]), 1, [make_rows(spark, [schema])])
    assert warehouse.query("SELECT name FROM fin_a.fx") == [("fin_a",)]


def test_period_that_another_project_has_written_is_refused_unless_shared(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["old"])])
    foreign = replace(snapshot, project=replace(snapshot.project, id="q"))
    with pytest.raises(JobError, match="OUTPUT_002: period 2026-01 of this table was written by project 'fx-id'"):
        publish(spark, foreign, 1, [make_rows(spark, ["foreign"])])
    assert read_table(warehouse) == ["old"]


def test_registered_output_over_jdbc_is_kept_as_parquet_too(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Any
) -> None:
    output = make_table_output(warehouse, slice=make_slice(tmp_path / "slices"))
    (report,) = publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["a", "b"], parts=2)])
    assert report.slice is not None
    assert read_names(spark, report.slice.uri) == read_table(warehouse) == ["a", "b"]


def test_database_that_is_down_is_reported_without_the_password(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = make_table_output(warehouse)
    options = {"url": "jdbc:postgresql://127.0.0.1:1/x?password=canary-4711"}
    down = replace(output, destination=replace(output.destination, options=options))
    with pytest.raises(JobError) as failed:
        Publication(spark, make_snapshot([down]), 1).begin()
    assert (failed.value.code, failed.value.exit_code) == ("OUTPUT_003", 12)
    assert "canary" not in str(failed.value)


def test_missing_credential_names_the_variable(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAREHOUSE")
    with pytest.raises(JobError) as failed:
        Publication(spark, make_snapshot([make_table_output(warehouse)]), 1).begin()
    assert failed.value.code == "CATALOG_004"
    assert "WAREHOUSE" in str(failed.value.hint)

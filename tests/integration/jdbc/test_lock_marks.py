"""A lock leaves its mark in the ledger of a database, where the runs of other registries find it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.runs.database_marks import mark_table, read_place
from airflow_provider_runtime.core.tables.addresses import read_env_properties
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.operations import Destination
from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import make_rows, make_snapshot, publish, stage

pytestmark = [pytest.mark.spark, pytest.mark.integration]

MARK = LockMark("ann", "audited, \"finally\" 'done' ü", "2026-02-03T04:05:06+00:00")


def lock(destination: Destination, period: str = "2026-01") -> bool:
    return mark_table(destination, "gregorian", period, MARK, read_env_properties)


def test_period_that_was_locked_is_not_replaced(spark: SparkSession, warehouse: Warehouse) -> None:
    output = make_table_output(warehouse)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    assert lock(output.destination)
    assert lock(output.destination)
    with pytest.raises(JobError, match=r"PERIOD_002.*period 2026-01 was locked by ann: audited, .finally. 'done' ü"):
        publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])
    assert read_table(warehouse) == ["old"]
    assert list_stage_tables(warehouse) == []
    publish(spark, make_snapshot([output], period="2026-02"), 3, [make_rows(spark, ["f"], period="2026-02")])
    assert read_table(warehouse) == ["f", "old"]


def test_period_that_is_part_of_a_locked_one_is_not_replaced(spark: SparkSession, warehouse: Warehouse) -> None:
    output = make_table_output(warehouse)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    assert lock(output.destination, "2026-Q1")
    later = make_snapshot([output], sha256="b" * 64)
    settings = replace(later.plan.settings, enclosing_periods=("2026-Q1", "2026"))
    later = replace(later, plan=replace(later.plan, settings=settings))
    with pytest.raises(JobError, match="period 2026-01 is part of 2026-Q1, which was locked by ann"):
        publish(spark, later, 2, [make_rows(spark, ["new"])])
    assert read_table(warehouse) == ["old"]


def test_lock_that_comes_while_a_run_is_under_way_stops_it(spark: SparkSession, warehouse: Warehouse) -> None:
    output = make_table_output(warehouse)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    snapshot = make_snapshot([output], sha256="b" * 64)
    publication = Publication(spark, snapshot, 2)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["new"])])
    assert lock(output.destination)
    with pytest.raises(JobError, match="PERIOD_002"):
        publication.publish()
    assert read_table(warehouse) == ["old"]


def test_table_in_a_schema_is_marked_there(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute('CREATE SCHEMA "Fin"')
    output = make_table_output(warehouse, "Fin.fx")
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    assert lock(output.destination)
    with pytest.raises(JobError, match="PERIOD_002"):
        publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])


def test_place_that_cannot_be_marked_is_reported(warehouse: Warehouse) -> None:
    destination = make_table_output(warehouse).destination
    assert not lock(destination)
    for url in ("jdbc:postgresql://127.0.0.1:1/x", "jdbc:sqlserver://127.0.0.1", "jdbc:postgresql:"):
        assert not lock(replace(destination, options={"url": url}))
    assert not lock(replace(destination, credential_ref="env://NOBODY_HAS_SET_THIS"))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("jdbc:postgresql://db/dwh", {"host": "db", "port": "5432", "dbname": "dwh"}),
        ("jdbc:postgresql://a:1,b/d%20b?sslmode=require", {"host": "a,b", "port": "1,5432", "dbname": "d b"}),
        ("jdbc:postgresql://[::1]:5433/x?user=me", {"host": "::1", "port": "5433", "dbname": "x", "user": "me"}),
        ("jdbc:postgresql:///x?currentSchema=fin", {"host": "localhost", "options": "-c search_path=fin"}),
    ],
)
def test_address_is_read_as_the_driver_reads_it(url: str, place: dict[str, str]) -> None:
    assert read_place(url, {}).items() >= place.items()

"""Commits whose answer never arrives, and drivers that come back from the dead, against a real database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.operations import OutputOperation
from spark_jobs.errors import JobError
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.integration.lossy_proxy import LossyProxy, start_lossy_proxy
from tests.integration.postgres import PostgresServer
from tests.spark_jobs.publishing import make_rows, make_snapshot, publish

pytestmark = [pytest.mark.spark, pytest.mark.integration]

INSERT = b'INSERT INTO "fx"'


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[LossyProxy]:
    with start_lossy_proxy(postgres_server.port, INSERT) as started:
        yield started


def make_output_through(proxy: LossyProxy, warehouse: Warehouse) -> OutputOperation:
    output = make_table_output(warehouse)
    # Without prepared statements every COMMIT is spelled out, so that the proxy sees it.
    url = warehouse.jdbc_url.replace(f":{proxy.target_port}/", f":{proxy.port}/") + "?prepareThreshold=0"
    return replace(output, destination=replace(output.destination, options={"url": url}))


def describe_rows(warehouse: Warehouse) -> list[tuple[str, ...]]:
    """The place of each row and the transaction that wrote it, which change when a row is written again."""
    return warehouse.query("SELECT ctid::text, xmin::text, name FROM fx ORDER BY name")


def test_commit_whose_answer_the_network_lost_is_found_by_the_same_attempt(
    spark: SparkSession, warehouse: Warehouse, proxy: LossyProxy
) -> None:
    snapshot = make_snapshot([make_output_through(proxy, warehouse)])
    (report,) = publish(spark, snapshot, 1, [make_rows(spark, ["a", "b"])])
    assert (proxy.lost, proxy.count(INSERT), report.rows) == (1, 1, 2)
    assert read_table(warehouse) == ["a", "b"]
    assert list_stage_tables(warehouse) == []


def test_commit_whose_answer_is_lost_with_the_network_is_found_by_the_retry(
    spark: SparkSession, warehouse: Warehouse, proxy: LossyProxy
) -> None:
    proxy.down_afterwards = True
    snapshot = make_snapshot([make_output_through(proxy, warehouse)])
    with pytest.raises(JobError, match="OUTPUT_003") as failed:
        publish(spark, snapshot, 1, [make_rows(spark, ["a", "b"])])
    assert (proxy.lost, failed.value.exit_code) == (1, 12)
    before = describe_rows(warehouse)
    assert [name for _, _, name in before] == ["a", "b"]
    proxy.repair()
    (report,) = publish(spark, snapshot, 2, [make_rows(spark, ["a", "b"])])
    assert (report.rows, proxy.count(INSERT)) == (2, 1)
    assert describe_rows(warehouse) == before


def test_lost_commit_of_an_attempt_that_was_replaced_is_not_taken_for_its_own(
    spark: SparkSession, warehouse: Warehouse, proxy: LossyProxy
) -> None:
    """What was committed by the first attempt is published; what the second publishes afterwards stays."""
    proxy.down_afterwards = True
    snapshot = make_snapshot([make_output_through(proxy, warehouse)])
    with pytest.raises(JobError):
        publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    proxy.repair()
    other = make_snapshot([make_output_through(proxy, warehouse)], sha256="b" * 64)
    publish(spark, other, 2, [make_rows(spark, ["b"])])
    with pytest.raises(JobError, match="RUN_002"):
        publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    assert read_table(warehouse) == ["b"]


def test_table_that_somebody_has_locked_for_a_while_is_waited_for(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["old"])])
    with psycopg.connect(warehouse.connection.info.dsn, user="postgres") as other:
        other.execute("LOCK TABLE fx IN ACCESS EXCLUSIVE MODE")
        timer = threading.Timer(1.5, other.commit)
        timer.start()
        publish(spark, snapshot, 2, [make_rows(spark, ["new"])])
        timer.join()
    assert read_table(warehouse) == ["new"]

"""Attempts at a table over JDBC: older ones, lost answers, failures inside the transaction."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.databases import Database, DatabaseError
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import (
    make_rows,
    make_snapshot,
    publish,
    stage,
)

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_older_attempt_is_refused_before_it_computes(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 5, [make_rows(spark, ["a"])])
    with pytest.raises(JobError, match="RUN_002"):
        Publication(spark, snapshot, 4).begin()


def test_zombie_that_wakes_up_publishes_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    zombie = Publication(spark, snapshot, 2)
    zombie.begin()
    stage(zombie, snapshot, [make_rows(spark, ["zombie"])])
    newer = Publication(spark, snapshot, 3)
    newer.begin()
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish()
    zombie.abandon()
    stage(newer, snapshot, [make_rows(spark, ["new"])])
    newer.publish()
    assert read_table(warehouse) == ["new"]
    assert list_stage_tables(warehouse) == []


def test_zombie_of_another_version_of_the_project_publishes_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    """The next version has the output at another seq, and names the schema."""
    old = make_snapshot([make_table_output(warehouse, seq=50)])
    zombie = Publication(spark, old, 1)
    zombie.begin()
    stage(zombie, old, [make_rows(spark, ["old"])])
    new = make_snapshot([make_table_output(warehouse, "public.fx", seq=60)], sha256="b" * 64)
    publish(spark, new, 2, [make_rows(spark, ["new"])])
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish()
    assert read_table(warehouse) == ["new"]
    assert list_stage_tables(warehouse) == []


def test_ledger_that_counted_by_seq_is_carried_on(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    warehouse.connection.execute("UPDATE runtime_publish_ledger SET seq = 50 WHERE project = 'fx-id'")
    warehouse.connection.execute(
        "INSERT INTO runtime_publish_ledger (target, project, period, seq, token, nonce) "
        "VALUES ('fx', 'fx-id', '2026-01', 60, 5, 'x'), ('fx', '', '', 0, 0, NULL)"
    )
    with pytest.raises(JobError, match="RUN_002"):
        Publication(spark, snapshot, 4).begin()
    publish(spark, snapshot, 6, [make_rows(spark, ["b"])])
    found = warehouse.query(
        "SELECT seq, token, nonce <> 'x', published_token FROM runtime_publish_ledger "
        "WHERE project = 'fx-id' ORDER BY seq"
    )
    assert found == [(50, 6, True, 6), (60, 6, True, 6)]
    assert read_table(warehouse) == ["b"]


def test_stopped_claim_leaves_the_stage_table_of_a_newer_attempt(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    newer = Publication(spark, snapshot, 3)
    commit = Database.commit
    begun = []

    def let_newer_begin(self: Database) -> None:
        commit(self)
        if not begun and warehouse.query("SELECT 1 FROM runtime_publish_ledger WHERE token = 2"):
            begun.append(newer.begin)
            newer.begin()
            stage(newer, snapshot, [make_rows(spark, ["new"])])

    monkeypatch.setattr(Database, "commit", let_newer_begin)
    stopped = Publication(spark, snapshot, 2)
    stopped.begin()
    newer.publish()
    assert (len(begun), read_table(warehouse)) == (1, ["new"])


def test_rows_of_the_ledger_are_committed_before_they_are_locked(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL and SQL Server lock the gap of a missing row, where a second connection would wait forever."""
    query = Database.query
    seen = []

    def look(self: Database, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        if "FOR UPDATE" in sql:
            found = warehouse.query("SELECT project, period, seq FROM runtime_publish_ledger ORDER BY project")
            seen.append(found)
        return query(self, sql, *values)

    monkeypatch.setattr(Database, "query", look)
    Publication(spark, make_snapshot([make_table_output(warehouse)]), 1).begin()
    assert seen == [[("*", "*", 0), ("fx-id", "2026-01", 0)]]


def test_ledger_that_lost_its_rows_is_reported(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publication = Publication(spark, snapshot, 1)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["a"])])
    warehouse.connection.execute("DELETE FROM runtime_publish_ledger")
    with pytest.raises(JobError, match=r"OUTPUT_003.* gone from runtime_publish_ledger"):
        publication.publish()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_isolation_is_not_left_to_the_database(spark: SparkSession, warehouse: Warehouse, isolation: str) -> None:
    name = warehouse.connection.info.dbname
    warehouse.connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")  # type: ignore[arg-type]
    for attempt, names in ((1, ["a"]), (2, ["b"])):
        publish(spark, make_snapshot([make_table_output(warehouse)]), attempt, [make_rows(spark, names)])
    assert read_table(warehouse) == ["b"]


def test_new_table_is_made_while_nothing_is_locked(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL and Oracle commit when they make a table: locks from before it would be gone after it."""
    execute = Database.execute
    made = []

    def look(self: Database, sql: str, *values: Any) -> int:
        if sql.startswith('CREATE TABLE "fx"'):
            made.extend(warehouse.query("SELECT project FROM runtime_publish_ledger FOR UPDATE NOWAIT"))
        return execute(self, sql, *values)

    monkeypatch.setattr(Database, "execute", look)
    publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])
    assert (sorted(made), read_table(warehouse)) == ([("*",), ("fx-id",)], ["a"])


def test_stage_tables_of_killed_attempts_are_dropped_by_the_next(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    Publication(spark, snapshot, 1).begin()
    assert len(list_stage_tables(warehouse)) == 1
    publish(spark, snapshot, 2, [make_rows(spark, ["a"])])
    assert list_stage_tables(warehouse) == []


def test_commit_whose_answer_is_lost_is_found_at_once(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publication = Publication(spark, snapshot, 1)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["a"])])
    commit = Database.commit
    lost = []

    def lose_answer(self: Database) -> None:
        commit(self)
        if warehouse.query("SELECT 1 FROM runtime_publish_ledger WHERE published_token = 1") and not lost:
            lost.append(True)
            raise DatabaseError("connection reset", "08006")

    monkeypatch.setattr(Database, "commit", lose_answer)
    (report,) = publication.publish()
    assert (lost, report.rows, read_table(warehouse)) == ([True], 1, ["a"])


def test_retry_after_a_lost_answer_does_not_repeat_the_publication(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a", "b"], parts=2)])
    before = warehouse.query("SELECT ctid::text, xmin::text, name FROM fx ORDER BY name")
    publish(spark, snapshot, 2, [make_rows(spark, ["a", "b"])])
    assert warehouse.query("SELECT ctid::text, xmin::text, name FROM fx ORDER BY name") == before
    assert warehouse.query(
        "SELECT token, published_token, row_count FROM runtime_publish_ledger WHERE seq = 0 AND project = 'fx-id'"
    ) == [(2, 2, 2)]


def test_retry_replaces_rows_that_were_changed_since(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a", "b"])])
    warehouse.connection.execute("UPDATE fx SET name = 'changed' WHERE name = 'a'")
    publish(spark, snapshot, 2, [make_rows(spark, ["a", "b"])])
    assert read_table(warehouse) == ["a", "b"]


def test_failure_inside_the_transaction_changes_nothing(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    execute = Database.execute

    def fail(self: Database, sql: str, *values: Any) -> int:
        if sql.startswith('INSERT INTO "fx"'):
            warehouse.connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND query LIKE 'DELETE%'"
            )
        return execute(self, sql, *values)

    monkeypatch.setattr(Database, "execute", fail)
    with pytest.raises(JobError, match="OUTPUT_003") as failed:
        publish(spark, snapshot, 2, [make_rows(spark, ["b"])])
    monkeypatch.setattr(Database, "execute", execute)
    assert failed.value.exit_code == 12
    assert read_table(warehouse) == ["a"]
    publish(spark, snapshot, 3, [make_rows(spark, ["b"])])
    assert read_table(warehouse) == ["b"]


def test_two_projects_that_replace_one_period_at_once_do_not_both_stay(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    output = make_table_output(warehouse)
    output = replace(output, destination=replace(output.destination, shared=True))
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    publications = []
    for name in ("p", "q"):
        snapshot = make_snapshot([output])
        snapshot = replace(snapshot, project=replace(snapshot.project, id=name))
        publication = Publication(spark, snapshot, 1)
        publication.begin()
        stage(publication, snapshot, [make_rows(spark, [name])])
        publications.append(publication)
    threads = [threading.Thread(target=publication.publish) for publication in publications]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_table(warehouse) in (["p"], ["q"])

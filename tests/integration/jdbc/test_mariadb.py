"""MariaDB, which Spark does not know as a kind of its own: what is read, written, refused and rolled back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.runs.database_marks import mark_table
from airflow_provider_runtime.core.tables.addresses import read_env_properties
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.credentials import read_credentials, read_options
from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import Attempt
from spark_jobs.sinks.jdbc_target import JdbcTarget
from spark_jobs.spark.databases import DatabaseError
from tests.integration.jdbc.warehouse_tables import COLUMNS, locate, make_table_output
from tests.integration.mariadb import MariaDb, MariaDbServer
from tests.spark_jobs.plan_builders import run, start
from tests.spark_jobs.publishing import make_rows, make_snapshot, publish

pytestmark = [pytest.mark.spark, pytest.mark.integration]

TABLE = "CREATE TABLE fx (id bigint, name varchar(100), amount decimal(20,6), _period varchar(20))"
ODD = "Zürich 'q' \"d\" `b` \\ 漢字 \U0001f600"


@pytest.fixture
def mariadb(mariadb_server: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> MariaDb:
    monkeypatch.setenv("WAREHOUSE", '{"user": "writer", "password": "canary-4711"}')
    return mariadb_server.make_database("CHARACTER SET utf8mb4")


def read_names(mariadb: MariaDb, table: str = "fx") -> list[tuple[str, ...]]:
    return mariadb.query(f"SELECT name, _period FROM {table} ORDER BY 2, 1")


def list_stage_tables(mariadb: MariaDb) -> list[tuple[str, ...]]:
    return mariadb.query("SHOW TABLES LIKE 'rt\\_stage\\_%'")


@pytest.mark.parametrize("zone", ["+00:00", "+05:00"])
def test_values_are_read_exactly_whatever_the_zone_of_the_server(
    spark: SparkSession, mariadb: MariaDb, zone: str
) -> None:
    columns = [*COLUMNS, ("large", "decimal(20,0)")]
    text = ODD.replace("\\", "\\\\").replace("'", "''")
    mariadb.execute(
        f"""SET GLOBAL time_zone = '{zone}';
        CREATE TABLE tx (id bigint, `order` int, amount decimal(38,18), cents decimal(10,2), day date,
            at timestamp(6) NULL, local datetime(6), note varchar(100), ok boolean, large bigint unsigned, x time);
        INSERT INTO tx VALUES (1, -7, -12345678901234567890.123456789012345678, 1.10, '2026-01-31',
            '2026-01-31 23:59:59.999999', '2026-01-31 23:59:59.999999', '{text}', TRUE, 18446744073709551615, '10:00'),
            (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
    )
    plan = start(columns, locate(mariadb)).output(*(name for name, _ in columns))
    first, second = run(spark, plan, credentials=read_options).rows(10)
    mariadb.execute("SET GLOBAL time_zone = 'SYSTEM'")
    assert [str(value) for value in first] == [
        "1", "-7", "-12345678901234567890.123456789012345678", "1.10", "2026-01-31",
        "2026-01-31 23:59:59.999999", "2026-01-31 23:59:59.999999", ODD, "True", "18446744073709551615",
    ]  # fmt: skip
    assert second == (2, *[None] * 9)


def test_period_is_replaced_and_others_stay(spark: SparkSession, mariadb: MariaDb) -> None:
    output = make_table_output(mariadb)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old", ODD], parts=3)])
    publish(spark, make_snapshot([output], period="2026-02"), 2, [make_rows(spark, ["f"], period="2026-02")])
    assert read_names(mariadb) == [(ODD, "2026-01"), ("old", "2026-01"), ("f", "2026-02")]
    publish(spark, make_snapshot([output], sha256="b" * 64), 3, [make_rows(spark, ["new"])])
    assert read_names(mariadb) == [("new", "2026-01"), ("f", "2026-02")]
    assert list_stage_tables(mariadb) == []
    with pytest.raises(JobError, match="RUN_002"):
        publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["late"])])


def test_table_of_another_database_is_replaced_there(spark: SparkSession, mariadb: MariaDb) -> None:
    other = mariadb.server.make_database()
    output = make_table_output(mariadb, f"{other.name}.fx")
    for token, name in ((1, "old"), (2, "new")):
        publish(spark, make_snapshot([output], sha256=str(token) * 64), token, [make_rows(spark, [name])])
    assert read_names(other) == [("new", "2026-01")]
    assert list_stage_tables(other) == mariadb.query("SHOW TABLES") == []


def test_projects_that_differ_only_in_case_are_different(spark: SparkSession, mariadb: MariaDb) -> None:
    output = make_table_output(mariadb)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    mariadb.execute("UPDATE runtime_publish_ledger SET project = UPPER(project) WHERE project <> '*'")
    with pytest.raises(JobError, match="was written by project"):
        publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_table_without_transactions_is_refused_before_its_rows_are_touched(
    spark: SparkSession, mariadb: MariaDb, engine: str
) -> None:
    mariadb.execute(f"{TABLE} ENGINE = {engine}; INSERT INTO fx VALUES (1, 'old', 1, '2026-01')")
    with pytest.raises(JobError, match=f"OUTPUT_002.*its engine {engine} has no transactions"):
        publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["new"])])
    assert read_names(mariadb) == [("old", "2026-01")]


def test_tables_are_made_with_transactions_whatever_the_default_of_the_server(
    spark: SparkSession, mariadb: MariaDb
) -> None:
    mariadb.execute("SET GLOBAL default_storage_engine = 'MyISAM'")
    try:
        publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["a"])])
    finally:
        mariadb.execute("SET GLOBAL default_storage_engine = 'InnoDB'")
    made = "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE()"
    assert mariadb.query(made) == [("InnoDB",)]


@pytest.mark.parametrize("mode", ["", "STRICT_TRANS_TABLES"])
def test_text_that_is_too_long_is_never_cut(spark: SparkSession, mariadb: MariaDb, mode: str) -> None:
    mariadb.execute(f"{TABLE.replace('100', '3')}; SET GLOBAL sql_mode = '{mode}'")
    try:
        with pytest.raises(JobError, match="DATA_003"):
            publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["abcd"])])
    finally:
        mariadb.execute("SET GLOBAL sql_mode = DEFAULT")
    assert read_names(mariadb) == []


def test_text_that_the_table_has_no_characters_for_is_never_changed(spark: SparkSession, mariadb: MariaDb) -> None:
    mariadb.execute(f"{TABLE} CHARACTER SET latin1; SET GLOBAL sql_mode = ''")
    try:
        with pytest.raises(JobError, match="DATA_003"):
            publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["漢"])])
    finally:
        mariadb.execute("SET GLOBAL sql_mode = DEFAULT")
    assert read_names(mariadb) == []


def test_table_that_changes_a_text_is_refused(spark: SparkSession, mariadb: MariaDb) -> None:
    mariadb.execute(f"{TABLE}; CREATE TRIGGER t BEFORE INSERT ON fx FOR EACH ROW SET NEW.name = UPPER(NEW.name)")
    with pytest.raises(JobError, match="other values than were written to name"):
        publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["a"])])
    assert read_names(mariadb) == []


def test_period_that_was_locked_is_not_replaced(spark: SparkSession, mariadb: MariaDb) -> None:
    """The reason is cut: the ledger has less room than elsewhere."""
    output, mark = make_table_output(mariadb), LockMark("ann", "audited ü" * 40, "2026-02-03T04:05:06+00:00")
    assert not mark_table(output.destination, "gregorian", "2026-01", mark, read_env_properties)
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    for _ in range(2):
        assert mark_table(output.destination, "gregorian", "2026-01", mark, read_env_properties)
    with pytest.raises(JobError, match=r"PERIOD_002.*period 2026-01 was locked by ann: audited ü"):
        publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])
    assert read_names(mariadb) == [("old", "2026-01")]


def test_lock_finds_the_table_of_another_database(spark: SparkSession, mariadb: MariaDb) -> None:
    other = mariadb.server.make_database()
    output = make_table_output(mariadb, f"{other.name}.fx")
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    assert mark_table(output.destination, "gregorian", "2026-01", LockMark("a", "b", "c"), read_env_properties)
    with pytest.raises(JobError, match="PERIOD_002"):
        publish(spark, make_snapshot([output], sha256="b" * 64), 2, [make_rows(spark, ["new"])])


@pytest.mark.parametrize("more", ["?sslMode=verify-full", "?useSsl=true"])
def test_lock_does_not_send_a_password_without_the_tls_that_is_asked_for(
    spark: SparkSession, mariadb: MariaDb, more: str
) -> None:
    publish(spark, make_snapshot([make_table_output(mariadb)]), 1, [make_rows(spark, ["old"])])
    destination = replace(make_table_output(mariadb).destination, options={"url": mariadb.jdbc_url + more})
    assert not mark_table(destination, "gregorian", "2026-01", LockMark("a", "b", "c"), read_env_properties)


def test_session_lets_go_of_locks(spark: SparkSession, mariadb: MariaDb) -> None:
    attempt = Attempt(1, "p", "2026-01", "a" * 64)
    target = JdbcTarget(
        spark, make_table_output(mariadb), attempt, ("2026-01",), lambda: read_credentials("env://WAREHOUSE")
    )
    names = ("innodb_lock_wait_timeout", "lock_wait_timeout", "idle_transaction_timeout")
    with target.connect() as database:
        ((*found,),) = database.query(f"SELECT {', '.join('@@SESSION.' + name for name in names)}")
        with pytest.raises(DatabaseError, match="disabled the local infile capability"):
            database.execute("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE nowhere")
    assert [int(value) for value in found] == [120, 120, 30]

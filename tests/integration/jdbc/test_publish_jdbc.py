from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.plan import Column, Destination, OutputOperation
from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.databases import Database, DatabaseError
from spark_jobs.spark.session import configure_session
from tests.integration.jdbc.conftest import Warehouse
from tests.spark_jobs.publishing import (
    COLUMNS,
    make_output,
    make_rows,
    make_slice,
    make_snapshot,
    publish,
    read_names,
    stage,
)

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def make_table_output(warehouse: Warehouse, table: str = "fx", **changes: Any) -> OutputOperation:
    destination = Destination(
        "jdbc",
        "jdbc",
        f"dwh/{table}",
        table=table,
        options={"url": warehouse.jdbc_url},
        credential_ref="env://WAREHOUSE",
    )
    return make_output(destination=destination, **changes)


def read_table(warehouse: Warehouse, table: str = "fx") -> list[str]:
    return [name for (name,) in warehouse.query(f'SELECT name FROM "{table}" ORDER BY name')]


def list_stage_tables(warehouse: Warehouse) -> list[str]:
    return [name for (name,) in warehouse.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'rt_stage_%'")]


def test_publish_makes_table_with_exact_types(spark: SparkSession, warehouse: Warehouse) -> None:
    columns = (
        Column("n", "bigint"),
        Column("d", "decimal(38,18)"),
        Column("t", "string"),
        Column("day", "date"),
        Column("at", "timestamp"),
        Column("yes", "boolean"),
        Column("_period", "string"),
    )
    output = make_table_output(warehouse, columns=columns)
    text = "Zürich 'quoted' \"double\" \\ back; -- 漢字 \U0001f600 \u202e\n\ttab"
    big = Decimal("12345678901234567890.123456789012345678")
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    rows = [(2**63 - 1, big, text, date(1582, 10, 15), moment, True, "2026-01"), (*[None] * 6, "2026-01")]
    schema = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    publish(spark, make_snapshot([output]), 1, [spark.createDataFrame(rows, schema)])
    types = dict(
        warehouse.query(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
            "WHERE a.attrelid = 'fx'::regclass AND a.attnum > 0"
        )
    )
    assert types == {
        "n": "bigint",
        "d": "numeric(38,18)",
        "t": "text",
        "day": "date",
        "at": "timestamp with time zone",
        "yes": "boolean",
        "_period": "text",
    }
    found = warehouse.query("SELECT * FROM fx ORDER BY n")
    assert found == rows


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
    assert (refused.value.code, refused.value.mark) == ("OUTPUT_003", "output:50")


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


def test_text_that_the_database_cannot_hold_is_told_in_its_words(spark: SparkSession, warehouse: Warehouse) -> None:
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    with pytest.raises(JobError, match=r"DATA_003.*does not take a value.*invalid byte sequence.*0x00") as refused:
        publish(spark, snapshot, 2, [make_rows(spark, ["Be\0rn"])])
    # Nothing that a retry would make better.
    assert (refused.value.exit_code, refused.value.mark) == (11, snapshot.plan.operations[0].mark)
    assert read_table(warehouse) == ["a"]


def test_value_that_a_table_of_somebody_else_cannot_hold_is_not_worth_a_retry(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    warehouse.connection.execute('CREATE TABLE fx (id bigint, name varchar(3), amount numeric(20,6), "_period" text)')
    with pytest.raises(JobError, match=r"DATA_003.*value too long") as refused:
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["abcd"])])
    assert refused.value.exit_code == 11


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


def make_moment_output(warehouse: Warehouse) -> OutputOperation:
    return make_table_output(warehouse, columns=(Column("at", "timestamp"), Column("_period", "string")))


def make_moment(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT timestamp'2026-01-31 12:34:56.789012Z' at, '2026-01' _period")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("amount", "numeric(20,2)"),
        ("amount", "numeric(20,0)"),
        ("amount", "bigint"),
        ("amount", "real"),
        ("amount", "double precision"),
        ("amount", "money"),
        ("id", "double precision"),
    ],
)
def test_existing_table_that_would_round_is_refused(
    spark: SparkSession, warehouse: Warehouse, column: str, kind: str
) -> None:
    types = {"id": "bigint", "amount": "numeric(20,6)", column: kind}
    warehouse.connection.execute(
        f"CREATE TABLE fx (id {types['id']}, name text, amount {types['amount']}, _period text)"
    )
    with pytest.raises(JobError, match=rf"OUTPUT_003.* would change the values of {column}$"):
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])
    assert read_table(warehouse) == []


@pytest.mark.parametrize("kind", ["date", "time", "timestamp(0)", "timestamptz(0)", "timestamp(3)", "timestamptz(5)"])
def test_existing_table_that_keeps_less_of_a_timestamp_is_refused(
    spark: SparkSession, warehouse: Warehouse, kind: str
) -> None:
    warehouse.connection.execute(f"CREATE TABLE fx (at {kind}, _period text)")
    with pytest.raises(JobError, match=r"OUTPUT_003.* would change the values of at$"):
        publish(spark, make_snapshot([make_moment_output(warehouse)]), 1, [make_moment(spark)])
    assert warehouse.query("SELECT at FROM fx") == []


def test_old_times_are_written_exactly_because_a_run_makes_java_live_in_utc(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    zones = spark.sparkContext._jvm.java.util.TimeZone  # type: ignore[union-attr]
    zones.setDefault(zones.getTimeZone("Pacific/Apia"))
    configure_session(spark)
    columns = (Column("at", "timestamp"), Column("day", "date"), Column("_period", "string"))
    rows = spark.sql("SELECT TIMESTAMP'1890-01-01 00:00:00Z' AS at, DATE'2011-12-30' AS day, '2026-01' AS _period")
    publish(spark, make_snapshot([make_table_output(warehouse, columns=columns)]), 1, [rows])
    assert warehouse.query("SELECT at, day FROM fx") == [(datetime(1890, 1, 1, tzinfo=UTC), date(2011, 12, 30))]


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz(6)"])
def test_timestamp_is_written_in_utc_whatever_the_zone_of_the_driver(
    spark: SparkSession, warehouse: Warehouse, kind: str
) -> None:
    warehouse.connection.execute(f"CREATE TABLE fx (at {kind}, _period text)")
    zones = spark.sparkContext._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before = zones.getDefault()
    written = []
    zones.setDefault(zones.getTimeZone("America/New_York"))
    try:
        for attempt in (1, 2):
            publish(spark, make_snapshot([make_moment_output(warehouse)]), attempt, [make_moment(spark)])
            written.append(warehouse.query("SELECT xmin::text FROM fx"))
    finally:
        zones.setDefault(before)
    assert written[0] == written[1]
    warehouse.connection.execute("SET TIME ZONE 'UTC'")
    ((found,),) = warehouse.query("SELECT at::text FROM fx")
    assert found.removesuffix("+00") == "2026-01-31 12:34:56.789012"


def test_numbers_without_bounds_hold_any(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (id numeric, name text, amount numeric, _period text)")
    publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a", "b"])])
    assert warehouse.query("SELECT id, amount FROM fx ORDER BY id") == [(0, 0), (1, Decimal("1.5"))]


def test_existing_table_without_a_column_is_refused(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (id bigint, name text, _period text)")
    with pytest.raises(JobError, match="no column amount"):
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])


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
    """MySQL and SQL Server lock the gap of a missing row, where a second connection would wait for ever."""
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


def test_ledger_that_lost_its_rows_is_told(spark: SparkSession, warehouse: Warehouse) -> None:
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


def test_database_that_is_down_is_told_without_the_password(
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

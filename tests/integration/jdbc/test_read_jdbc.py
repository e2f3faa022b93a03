"""PostgreSQL tables as sources: exact types, what the database is asked for, row ids, joins."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.contract.documents import read_document
from spark_jobs.contract.report import OperationReport
from spark_jobs.contract.tables import Column, Table
from spark_jobs.credentials import read_options
from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from spark_jobs.sources import SourceContext, load_table
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from spark_jobs.spark.translation import translate
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import COLUMNS, locate, make_table_output
from tests.spark_jobs.plan_builders import Columns, join, memory, run, start, table
from tests.spark_jobs.publishing import make_snapshot

pytestmark = [pytest.mark.spark, pytest.mark.integration]

EVERY_PLANE = "Zürich 'q' \"d\" \\ ; -- 漢字 \U0001f600 \u202e\n\t\x01 \ufffd \U0010ffff"
TABLE = """CREATE TABLE tx (id bigint, "order" smallint, amount numeric(38,18), cents numeric(10,2), day date,
    at timestamptz, local timestamp, note text, ok boolean, unused text, _period varchar(7))"""


@pytest.fixture
def tx(warehouse: Warehouse) -> Warehouse:
    warehouse.connection.execute(TABLE)
    big = Decimal("-12345678901234567890.123456789012345678")
    at = datetime(2026, 1, 31, 23, 59, 59, 999999, UTC)
    rows = [
        (2**63 - 1, -32768, big, Decimal("-0.01"), date(1582, 10, 15), at, at.replace(tzinfo=None), EVERY_PLANE, True,
         "u"),
        (None, None, None, None, None, None, None, "", None, None),
    ]  # fmt: skip
    for row in rows:
        warehouse.connection.execute(f"INSERT INTO tx VALUES ({', '.join(['%s'] * 11)})", (*row, "2026-01"))
    warehouse.connection.execute("INSERT INTO tx (id, _period) SELECT n, '2026-02' FROM generate_series(1, 500) n")
    return warehouse


def test_types_and_texts_are_exact(spark: SparkSession, tx: Warehouse) -> None:
    plan = start(COLUMNS, locate(tx), mode="period").output(*[name for name, _ in COLUMNS], "_period")
    at = datetime(2026, 1, 31, 23, 59, 59, 999999)
    first, second = run(spark, plan, credentials=read_options).rows(10)
    assert {first, second} == {
        (2**63 - 1, -32768, Decimal("-12345678901234567890.123456789012345678"), Decimal("-0.01"), date(1582, 10, 15),
         at, at, EVERY_PLANE, True, "2026-01"),
        (None, None, None, None, None, None, None, "", None, "2026-01"),
    }  # fmt: skip


def test_database_is_asked_for_the_period_and_the_needed_columns(spark: SparkSession, tx: Warehouse) -> None:
    document = table([("id", "bigint"), ("note", "string")], locate(tx), mode="period")
    snapshots = DatabaseSnapshots(spark)
    context = SourceContext(spark, "2026-01", date(2026, 1, 1), read_options, snapshots)
    frame = load_table(context, read_document(Table, document)).frame.where("id > 3").select("id")
    text = frame._jdf.queryExecution().executedPlan().toString()
    snapshots.close()
    assert "*EqualTo(_period,2026-01), *GreaterThan(id,3)]" in text
    assert "ReadSchema: struct<id:bigint>" in text


def test_row_ids_do_not_depend_on_how_the_table_is_read(spark: SparkSession, tx: Warehouse) -> None:
    split = {"partitionColumn": "id", "lowerBound": "1", "upperBound": "500", "numPartitions": "4"}
    found = []
    for options in ({}, split):
        location = locate(tx, **options) | {"period": "2026-02"}
        plan = start([("id", "bigint")], location, mode="period").output("id", "_row_id")
        found.append(run(spark, plan, credentials=read_options).rows(10))
    assert found[0] == found[1]
    assert len({row[1] for row in found[0]}) == 500


def test_join_to_a_table_is_a_hash_join(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (code text, rate numeric(10,4), _deleted boolean)")
    warehouse.connection.execute("INSERT INTO fx VALUES ('EUR', 1.1, false), ('EUR', 9, true), ('CHF', 1.2, NULL)")
    plan = start([("code", "string")], memory(["code"], ("EUR",), ("CHF",), ("USD",)))
    plan.tables["fx"] = table([("code", "string"), ("rate", "decimal(10,4)")], locate(warehouse, "fx"))
    plan.update(("rate", "decimal(10,4)", "`@@fx`.`rate`"), joins=[join("fx", "fx", ["rate"], ("code", "code"))])
    rows = run(spark, plan.output("code", "rate"), credentials=read_options).rows(20)
    assert rows == [("CHF", Decimal("1.2000")), ("EUR", Decimal("1.1000")), ("USD", None)]


def test_schema_of_another_type_lists_the_columns(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE odd (amount text, share double precision)")
    plan = start([("amount", "decimal(18,2)"), ("share", "decimal(18,2)")], locate(warehouse, "odd"))
    with pytest.raises(JobError) as caught:
        run(spark, plan.output("amount"), credentials=read_options)
    assert [problem.code for problem in caught.value.problems] == ["DATA_002", "DATA_002"]


NUMBERS = [
    ("numeric", "decimal(38,18)", "1.12345678901234567899", None),
    ("numeric", "decimal(18,2)", "1.239", None),
    ("numeric", "decimal(18,2)", "1.2300", Decimal("1.23")),
    ("numeric(45,5)", "decimal(38,0)", "12.345", None),
    ("numeric(45,5)", "decimal(38,5)", "12.345", Decimal("12.34500")),
    ("numeric(60,40)", "decimal(38,18)", "0.0000000000000000009", None),
    ("numeric(60,40)", "decimal(38,20)", "-1.5", Decimal("-1.5")),
    ("numeric", "bigint", "7", None),
    ("numeric(38,0)", "bigint", "7", 7),
    ("numeric(38,0)", "bigint", "9223372036854775808", None),
    ("numeric", "decimal(18,2)", "NaN", None),
    ("numeric(10,2)", "decimal(18,2)", "NaN", None),
]


@pytest.mark.parametrize(("kind", "declared", "value", "expected"), NUMBERS)
def test_number_is_read_exactly_or_refused(
    spark: SparkSession, warehouse: Warehouse, kind: str, declared: str, value: str, expected: object
) -> None:
    warehouse.connection.execute(f"CREATE TABLE n (id bigint, amount {kind})")
    warehouse.connection.execute("INSERT INTO n VALUES (1, %s::numeric)", (value,))
    plan = start([("id", "bigint"), ("amount", declared)], locate(warehouse, "n")).output("amount")
    if expected is not None:
        assert run(spark, plan, credentials=read_options).rows(10) == [(expected,)]
        return
    with pytest.raises(JobError, match=r"DATA_00[23]"):
        run(spark, plan, credentials=read_options)


def test_invalid_number_is_an_error_of_the_source_and_not_of_the_destination(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    warehouse.connection.execute("CREATE TABLE n (amount numeric(20,6)); INSERT INTO n VALUES ('NaN')")
    source = spark.read.jdbc(
        warehouse.jdbc_url, "n", properties={"user": "postgres", "driver": "org.postgresql.Driver"}
    )
    output = make_table_output(warehouse, columns=(Column("amount", "decimal(20,6)"), Column("_period", "string")))
    snapshot = make_snapshot([output])
    publication = Publication(spark, snapshot, 1)
    publication.begin()
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        publication.stage(output, source.selectExpr("*", "'2026-01' AS _period"))
    assert translate(caught.value, snapshot.plan).code == "DATA_003"


def test_type_that_the_user_gives_rounds_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE n (amount numeric, other text)")
    warehouse.connection.execute("INSERT INTO n VALUES (1.25, '2.50')")
    columns: Columns = [("amount", "decimal(18,2)"), ("other", "decimal(18,2)")]
    given = locate(warehouse, "n", customSchema="amount DECIMAL(18,2), other DECIMAL(18,2)")
    plan = start(columns, given).output("amount", "other")
    assert run(spark, plan, credentials=read_options).rows(10) == [(Decimal("1.25"), Decimal("2.50"))]
    warehouse.connection.execute("UPDATE n SET amount = 1.239")
    with pytest.raises(JobError, match=r"DATA_003.*1\.239 cannot be read as decimal\(18,2\)"):
        run(spark, plan, credentials=read_options)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia"])
def test_days_and_times_do_not_depend_on_the_zone_of_java(spark: SparkSession, warehouse: Warehouse, zone: str) -> None:
    zones = spark.sparkContext._jvm.java.util.TimeZone
    zones.setDefault(zones.getTimeZone(zone))
    expected = {
        "gap": ("date", "2011-12-30", date(2011, 12, 30)),
        "reform": ("date", "1582-10-10", date(1582, 10, 10)),
        "skipped": ("timestamp", "2026-03-29 02:30", datetime(2026, 3, 29, 2, 30)),
        "old": ("timestamptz", "1890-01-01 00:00Z", datetime(1890, 1, 1)),
        "older": ("timestamptz", "1500-01-01 00:00:00.000001Z", datetime(1500, 1, 1, 0, 0, 0, 1)),
    }
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in expected.items())
    values = ", ".join(f"'{value}'" for _, value, _ in expected.values())
    warehouse.connection.execute(f"CREATE TABLE d ({columns}); INSERT INTO d VALUES ({values})")
    declared = [(name, kind.removesuffix("tz")) for name, (kind, _, _) in expected.items()]
    plan = start(declared, locate(warehouse, "d")).output(*expected)
    rows = run(spark, plan, credentials=read_options).rows(10)
    assert rows == [tuple(value for _, _, value in expected.values())]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("timestamp", "infinity"),
        ("timestamptz", "-infinity"),
    ],
)
def test_impossible_day_is_refused(spark: SparkSession, warehouse: Warehouse, kind: str, value: str) -> None:
    warehouse.connection.execute(f"CREATE TABLE d (at {kind}); INSERT INTO d VALUES ('{value}')")
    plan = start([("at", kind.removesuffix("tz"))], locate(warehouse, "d")).output("at")
    with pytest.raises(JobError, match=rf"DATA_003.*'at'.*value {value}"):
        run(spark, plan, credentials=read_options)


def test_texts_are_compared_as_everywhere_whatever_the_collation(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute(
        "CREATE TABLE fx (code text COLLATE \"en-x-icu\", rate numeric(10,4)); INSERT INTO fx VALUES ('B', 3)"
    )
    plan = start([("code", "string")], memory(["code"], ("B",)))
    plan.tables["fx"] = table([("code", "string"), ("rate", "decimal(10,4)")], locate(warehouse, "fx"))
    narrowed = join("fx", "fx", ["rate"], ("code", "code"))
    narrowed["condition"] += " AND `@@fx`.`code` < 'b'"
    plan.update(("rate", "decimal(10,4)", "`@@fx`.`rate`"), joins=[narrowed])
    rows = run(spark, plan.output("code", "rate"), credentials=read_options).rows(20)
    assert rows == [("B", Decimal("3.0000"))]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fetchsize": "0"},
        {"partitionColumn": "id", "lowerBound": "1", "upperBound": "2000", "numPartitions": "4"},
    ],
)
def test_whole_run_reads_one_database_snapshot(
    spark: SparkSession, warehouse: Warehouse, options: dict[str, str]
) -> None:
    """Another session replaces the period in one transaction, between what two outputs of the run read."""
    warehouse.connection.execute("CREATE TABLE m (id bigint, amount bigint)")
    warehouse.connection.execute("INSERT INTO m SELECT n, 1 FROM generate_series(1, 2000) n")
    plan = start([("id", "bigint"), ("amount", "bigint")], locate(warehouse, "m", **options))
    plan.output("id", "amount", where="`@w`.`id` <= 1000").output("id", "amount", where="`@w`.`id` > 1000")

    def replace_rows(done: OperationReport) -> None:
        if done.seq == 10:
            warehouse.connection.execute("UPDATE m SET amount = 2")

    result = run(spark, plan, credentials=read_options, progress=replace_rows)
    assert [{amount for _, amount in result.rows(seq)} for seq in (10, 20)] == [{1}, {1}]
    assert warehouse.query("SELECT DISTINCT amount FROM m") == [(2,)]
    assert_no_session_waits(warehouse)


WAITING = "pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"


def assert_no_session_waits(warehouse: Warehouse) -> None:
    """A server process notices a little later that its client has gone."""
    for _ in range(100):
        if warehouse.query(f"SELECT count(*) FROM {WAITING}") == [(0,)]:
            return
        time.sleep(0.1)
    raise AssertionError("a session is still in a transaction")


def test_tables_of_one_database_share_the_session_that_holds_its_snapshot(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    warehouse.connection.execute("CREATE TABLE m (id bigint); INSERT INTO m VALUES (1), (2)")
    warehouse.connection.execute("CREATE TABLE n (id bigint, rate bigint); INSERT INTO n VALUES (1, 5)")
    plan = start([("id", "bigint")], locate(warehouse, "m"))
    plan.tables["n"] = table([("id", "bigint"), ("rate", "bigint")], locate(warehouse, "n"))
    plan.update(("rate", "bigint", "`@@n`.`rate`"), joins=[join("n", "n", ["rate"], ("id", "id"))])
    waiting = []

    def look(_: OperationReport) -> None:
        waiting.extend(warehouse.query(f"SELECT count(*) FROM {WAITING}"))

    result = run(spark, plan.output("id", "rate"), credentials=read_options, progress=look)
    assert sorted(result.rows(20)) == [(1, 5), (2, None)]
    assert waiting == [(1,), (1,)]
    assert_no_session_waits(warehouse)


def test_lost_database_snapshot_fails_the_run_instead_of_changing_its_numbers(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    warehouse.connection.execute("CREATE TABLE m (id bigint); INSERT INTO m VALUES (1)")
    plan = start([("id", "bigint")], locate(warehouse, "m")).output("id").output("id")

    def stop_the_session(done: OperationReport) -> None:
        if done.seq == 10:
            warehouse.query(f"SELECT pg_terminate_backend(pid, 10000) FROM {WAITING}")

    with pytest.raises(JobError, match=r"INFRA_001: .*snapshot") as refused:
        run(spark, plan, credentials=read_options, progress=stop_the_session)
    assert "Traceback" not in str(refused.value)
    assert run(spark, plan, credentials=read_options).rows(20) == [(1,)]


def test_server_without_snapshots_is_read_as_other_databases_are(spark: SparkSession, warehouse: Warehouse) -> None:
    """As servers do that only speak PostgreSQL's protocol: the function is not there."""
    warehouse.connection.execute("CREATE TABLE m (id bigint); INSERT INTO m VALUES (1)")
    warehouse.connection.execute("SET allow_system_table_mods = on")
    warehouse.connection.execute("ALTER FUNCTION pg_catalog.pg_export_snapshot() RENAME TO pg_export_nothing")
    plan = start([("id", "bigint")], locate(warehouse, "m")).output("id")
    assert run(spark, plan, credentials=read_options).rows(10) == [(1,)]
    assert_no_session_waits(warehouse)


def test_table_that_does_not_exist_follows_the_rule(spark: SparkSession, warehouse: Warehouse) -> None:
    plan = start([("id", "bigint")], locate(warehouse, "nowhere")).output("id")
    with pytest.raises(JobError, match="DATA_001: table 'w' of dataset 'in': no data at nowhere"):
        run(spark, plan, credentials=read_options)
    empty = start([("id", "bigint")], locate(warehouse, "nowhere") | {"on_missing": "empty"}).output("id")
    assert run(spark, empty, credentials=read_options).rows(10) == []


@pytest.mark.parametrize("name", ["Mixed", "order", "a-b", "S.Mixed"])
def test_table_is_read_by_the_name_that_an_output_gives_it(
    spark: SparkSession, warehouse: Warehouse, name: str
) -> None:
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    warehouse.connection.execute('CREATE SCHEMA "S"')
    warehouse.connection.execute("CREATE TABLE mixed (id bigint)")
    warehouse.connection.execute(f"CREATE TABLE {quoted} (id bigint)")
    warehouse.connection.execute(f"INSERT INTO {quoted} VALUES (1)")
    plan = start([("id", "bigint")], locate(warehouse, name)).output("id")
    assert run(spark, plan, credentials=read_options).rows(10) == [(1,)]


def test_name_in_other_letters_is_what_the_database_makes_of_it(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE transactions (id bigint)")
    plan = start([("id", "bigint")], locate(warehouse, "public.Transactions") | {"on_missing": "empty"}).output("id")
    warehouse.connection.execute("INSERT INTO transactions VALUES (1)")
    assert run(spark, plan, credentials=read_options).rows(10) == [(1,)]


def test_database_that_cannot_be_reached_is_worth_another_try(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE", "canary-4711")
    nobody = Warehouse("jdbc:postgresql://127.0.0.1:1/none", None)  # type: ignore[arg-type]
    with pytest.raises(JobError, match="INFRA_001") as caught:
        run(spark, start([("id", "bigint")], locate(nobody)).output("id"), credentials=read_options)
    assert caught.value.exit_code == 12
    assert "canary" not in str(caught.value)


def test_number_beyond_64_bits_is_an_error(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE huge (n numeric(20,0))")
    warehouse.connection.execute("INSERT INTO huge VALUES (18446744073709551615)")
    plan = start([("n", "bigint")], locate(warehouse, "huge")).output("n")
    with pytest.raises(JobError, match=r"DATA_003: .*column 'n': value 18446744073709551615 cannot be read as integer"):
        run(spark, plan, credentials=read_options)

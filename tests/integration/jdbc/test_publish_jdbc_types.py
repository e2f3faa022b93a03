"""Types and values of a table that is written over JDBC: exact, or refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.tables import Column
from spark_jobs.errors import JobError
from spark_jobs.spark.session import configure_session
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import make_table_output, read_table
from tests.spark_jobs.publishing import (
    make_rows,
    make_snapshot,
    publish,
)

pytestmark = [pytest.mark.spark, pytest.mark.integration]


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


def test_text_that_the_database_cannot_hold_is_reported_in_its_words(spark: SparkSession, warehouse: Warehouse) -> None:
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
    with pytest.raises(JobError, match=rf"OUTPUT_002.* would change the values of {column}$"):
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])
    assert read_table(warehouse) == []


@pytest.mark.parametrize("kind", ["date", "time", "timestamp(0)", "timestamptz(0)", "timestamp(3)", "timestamptz(5)"])
def test_existing_table_that_keeps_less_of_a_timestamp_is_refused(
    spark: SparkSession, warehouse: Warehouse, kind: str
) -> None:
    warehouse.connection.execute(f"CREATE TABLE fx (at {kind}, _period text)")
    with pytest.raises(JobError, match=r"OUTPUT_002.* would change the values of at$"):
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


def test_numeric_without_bounds_holds_any_number(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (id numeric, name text, amount numeric, _period text)")
    publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a", "b"])])
    assert warehouse.query("SELECT id, amount FROM fx ORDER BY id") == [(0, 0), (1, Decimal("1.5"))]


def test_existing_table_without_a_column_is_refused(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (id bigint, name text, _period text)")
    with pytest.raises(JobError, match=r"OUTPUT_002.* no column amount"):
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])


@pytest.mark.parametrize(("column", "kind"), [("name", "bigint"), ("name", "date"), ("id", "boolean"), ("id", "uuid")])
def test_column_that_was_of_another_kind_when_the_table_was_made_is_not_worth_a_retry(
    spark: SparkSession, warehouse: Warehouse, column: str, kind: str
) -> None:
    types = {"id": "bigint", "name": "text", "amount": "numeric(20,6)", column: kind}
    columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    warehouse.connection.execute(f"CREATE TABLE fx ({columns}, _period text)")  # type: ignore[arg-type]
    with pytest.raises(JobError, match=f'OUTPUT_002.*"{column}"') as refused:
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["1"])])
    assert refused.value.exit_code == 10
    assert warehouse.query("SELECT id FROM fx") == []

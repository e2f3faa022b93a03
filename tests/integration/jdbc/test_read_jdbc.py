"""Tables of a PostgreSQL as sources: exact types, what the database is asked for, row ids, joins."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.snapshot import Table, build
from spark_jobs.sources import SourceContext, load_table
from tests.integration.jdbc.conftest import Warehouse
from tests.spark.plan_builders import Columns, join, memory, run, start, table

pytestmark = [pytest.mark.spark, pytest.mark.integration]

EVERY_PLANE = "Zürich 'q' \"d\" \\ ; -- 漢字 \U0001f600 \u202e\n\t\x01 \ufffd \U0010ffff"
COLUMNS: Columns = [
    ("id", "bigint"),
    ("small", "bigint"),
    ("amount", "decimal(38,18)"),
    ("cents", "decimal(18,2)"),
    ("day", "date"),
    ("at", "timestamp"),
    ("local", "timestamp"),
    ("note", "string"),
    ("ok", "boolean"),
]
TABLE = """CREATE TABLE tx (id bigint, small smallint, amount numeric(38,18), cents numeric(10,2), day date,
    at timestamptz, local timestamp, note text, ok boolean, unused text, _period varchar(7))"""


def locate(warehouse: Warehouse, name: str = "tx", **options: str) -> dict[str, Any]:
    return {"kind": "jdbc", "format": "jdbc", "table": name, "options": {"url": warehouse.jdbc_url, **options},
            "credential_ref": "env://WAREHOUSE"}  # fmt: skip


def give_credentials(reference: str) -> dict[str, str]:
    assert reference == "env://WAREHOUSE"
    return {"user": "postgres", "password": "canary-4711"}


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
    first, second = run(spark, plan, credentials=give_credentials).rows(10)
    assert {first, second} == {
        (2**63 - 1, -32768, Decimal("-12345678901234567890.123456789012345678"), Decimal("-0.01"), date(1582, 10, 15),
         at, at, EVERY_PLANE, True, "2026-01"),
        (None, None, None, None, None, None, None, "", None, "2026-01"),
    }  # fmt: skip


def test_database_is_asked_for_the_period_and_the_needed_columns(spark: SparkSession, tx: Warehouse) -> None:
    document = table([("id", "bigint"), ("note", "string")], locate(tx), mode="period")
    context = SourceContext(spark, "2026-01", date(2026, 1, 1), give_credentials)
    frame = load_table(context, build(Table, document)).frame.where("id > 3").select("id")
    text = frame._jdf.queryExecution().executedPlan().toString()
    assert "*EqualTo(_period,2026-01), *GreaterThan(id,3)]" in text
    assert "ReadSchema: struct<id:bigint>" in text


def test_row_ids_do_not_depend_on_how_the_table_is_read(spark: SparkSession, tx: Warehouse) -> None:
    split = {"partitionColumn": "id", "lowerBound": "1", "upperBound": "500", "numPartitions": "4"}
    found = []
    for options in ({}, split):
        location = locate(tx, **options) | {"period": "2026-02"}
        plan = start([("id", "bigint")], location, mode="period").output("id", "_row_id")
        found.append(run(spark, plan, credentials=give_credentials).rows(10))
    assert found[0] == found[1]
    assert len({row[1] for row in found[0]}) == 500


def test_join_to_a_table_is_a_hash_join(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (code text, rate numeric(10,4), _deleted boolean)")
    warehouse.connection.execute("INSERT INTO fx VALUES ('EUR', 1.1, false), ('EUR', 9, true), ('CHF', 1.2, NULL)")
    plan = start([("code", "string")], memory(["code"], ("EUR",), ("CHF",), ("USD",)))
    plan.tables["fx"] = table([("code", "string"), ("rate", "decimal(10,4)")], locate(warehouse, "fx"))
    plan.update(("rate", "decimal(10,4)", "`@@fx`.`rate`"), joins=[join("fx", "fx", ["rate"], ("code", "code"))])
    rows = run(spark, plan.output("code", "rate"), credentials=give_credentials).rows(20)
    assert rows == [("CHF", Decimal("1.2000")), ("EUR", Decimal("1.1000")), ("USD", None)]


def test_schema_of_another_type_lists_the_columns(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE odd (amount numeric, share double precision)")
    plan = start([("amount", "decimal(18,2)"), ("share", "decimal(18,2)")], locate(warehouse, "odd"))
    with pytest.raises(JobError) as caught:
        run(spark, plan.output("amount"), credentials=give_credentials)
    assert [problem.code for problem in caught.value.problems] == ["DATA_002", "DATA_002"]
    warehouse.connection.execute("INSERT INTO odd VALUES (1.25, 0)")
    given = locate(warehouse, "odd", customSchema="amount DECIMAL(18,2)")
    good = start([("amount", "decimal(18,2)")], given).output("amount")
    assert run(spark, good, credentials=give_credentials).rows(10) == [(Decimal("1.25"),)]


def test_table_that_does_not_exist_follows_the_rule(spark: SparkSession, warehouse: Warehouse) -> None:
    plan = start([("id", "bigint")], locate(warehouse, "nowhere")).output("id")
    with pytest.raises(JobError, match="DATA_001: table 'w' of dataset 'in': no data at nowhere"):
        run(spark, plan, credentials=give_credentials)
    empty = start([("id", "bigint")], locate(warehouse, "nowhere") | {"on_missing": "empty"}).output("id")
    assert run(spark, empty, credentials=give_credentials).rows(10) == []


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
    assert run(spark, plan, credentials=give_credentials).rows(10) == [(1,)]


def test_name_in_other_letters_is_what_the_database_makes_of_it(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE transactions (id bigint)")
    plan = start([("id", "bigint")], locate(warehouse, "public.Transactions") | {"on_missing": "empty"}).output("id")
    warehouse.connection.execute("INSERT INTO transactions VALUES (1)")
    assert run(spark, plan, credentials=give_credentials).rows(10) == [(1,)]


def test_database_that_cannot_be_reached_is_worth_another_try(spark: SparkSession) -> None:
    nobody = Warehouse("jdbc:postgresql://127.0.0.1:1/none", None)  # type: ignore[arg-type]
    with pytest.raises(JobError, match="INFRA_001") as caught:
        run(spark, start([("id", "bigint")], locate(nobody)).output("id"), credentials=give_credentials)
    assert caught.value.exit_code == 12
    assert "canary" not in str(caught.value)


def test_number_that_is_no_integer_of_64_bits(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE huge (n numeric(20,0))")
    warehouse.connection.execute("INSERT INTO huge VALUES (18446744073709551615)")
    plan = start([("n", "bigint")], locate(warehouse, "huge")).output("n")
    with pytest.raises(JobError, match=r"DATA_003: .*column 'n': value 18446744073709551615 cannot be read as integer"):
        run(spark, plan, credentials=give_credentials)

"""Tables that do not keep rows as they were written: refused before anything of it is seen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.tables import Column
from spark_jobs.errors import JobError
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import make_rows, make_snapshot, publish

pytestmark = [pytest.mark.spark, pytest.mark.integration]

TABLE = "CREATE TABLE fx (id bigint, name text, amount numeric(20,6), _period text)"
TRIGGER = f"""{TABLE};
    CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN NEW.name = upper(NEW.name); RETURN NEW; END $$;
    CREATE TRIGGER change BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION change()"""
LOOSE = f"""CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    {TRIGGER.replace("name text", "name text COLLATE loose")}"""
VIEW = f"{TABLE.replace('fx', 'base')}; CREATE VIEW fx AS SELECT * FROM base WHERE name <> 'hidden'"


def refuse(spark: SparkSession, warehouse: Warehouse, rows: DataFrame) -> str:
    with pytest.raises(JobError, match="OUTPUT_002") as refused:
        publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [rows])
    assert "triggers" in str(refused.value.hint)
    return refused.value.message


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (TRIGGER, "a"),
        (LOOSE, "a"),
        (TABLE.replace("text", "varchar(3)", 1), "ab   "),
        (TABLE.replace("text", "char(10)", 1), "ab   "),
        (TABLE.replace("text", "name", 1), "n" * 70),
        (TABLE.replace("text", '"char"', 1), "xyz"),
    ],
    ids=["trigger", "trigger under a loose collation", "varchar", "char", "name", "one byte"],
)
def test_table_that_changes_a_text_is_refused(spark: SparkSession, warehouse: Warehouse, made: str, name: str) -> None:
    warehouse.connection.execute(made)  # type: ignore[arg-type]
    assert refuse(spark, warehouse, make_rows(spark, [name])).endswith("other values than were written to name")
    assert read_table(warehouse) == []


def test_table_that_rounds_left_of_the_point_is_refused(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute(TABLE.replace("bigint", "numeric(10,-2)"))  # type: ignore[arg-type]
    rows = make_rows(spark, ["a"]).selectExpr("1234L id", "name", "amount", "_period")
    assert refuse(spark, warehouse, rows).endswith("other values than were written to id")


def test_view_that_hides_rows_is_refused(spark: SparkSession, warehouse: Warehouse) -> None:
    """Hidden rows cannot be deleted either: each run would add them once more."""
    warehouse.connection.execute(VIEW)  # type: ignore[arg-type]
    message = refuse(spark, warehouse, make_rows(spark, ["hidden", "b"]))
    assert message.endswith("the table shows 1 rows where 2 were written")
    assert warehouse.query("SELECT * FROM base") == []


def test_rows_that_a_policy_hides_are_refused(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.connection.execute(f"""{TABLE};
        DROP ROLE IF EXISTS loader; CREATE ROLE loader LOGIN;
        GRANT ALL ON SCHEMA public TO loader; GRANT ALL ON fx TO loader;
        ALTER TABLE fx ENABLE ROW LEVEL SECURITY;
        CREATE POLICY adding ON fx FOR INSERT WITH CHECK (true);
        CREATE POLICY seeing ON fx FOR SELECT USING (name <> 'secret');
        CREATE POLICY removing ON fx FOR DELETE USING (name <> 'secret')""")  # type: ignore[arg-type]
    monkeypatch.setenv("WAREHOUSE", '{"user": "loader", "password": "canary-4711"}')
    assert "shows 1 rows" in refuse(spark, warehouse, make_rows(spark, ["secret", "b"]))
    assert read_table(warehouse) == []


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("id bigint, name text, amount numeric(20,6), _period text, made_at timestamptz DEFAULT now()", ["a"]),
        ("_period varchar(20), amount numeric, name char(10), id integer, note text DEFAULT 'x'", ["a", "b"]),
        ('id varchar(5), name text COLLATE "C", amount varchar(20), _period text', ["a", "Ä"]),
        ("id text, name text, amount text, _period text", ["a", "b"]),
    ],
    ids=["default", "other order and types", "short texts", "texts"],
)
def test_table_that_keeps_the_rows_in_its_own_way_is_taken(
    spark: SparkSession, warehouse: Warehouse, columns: str, names: Sequence[str]
) -> None:
    warehouse.connection.execute(f"CREATE TABLE fx ({columns})")  # type: ignore[arg-type]
    warehouse.connection.execute("INSERT INTO fx (name, _period) VALUES ('other', '2025-12')")
    for _ in range(2):
        for attempt in (1, 2):
            publish(spark, make_snapshot([make_table_output(warehouse)]), attempt, [make_rows(spark, names)])
        assert [name.strip() for name in read_table(warehouse)] == sorted([*names, "other"])
        warehouse.connection.execute("DELETE FROM runtime_publish_ledger")
    assert list_stage_tables(warehouse) == []


def test_all_types_may_be_kept_as_texts(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute("CREATE TABLE fx (day text, at text, yes varchar(5), _period text)")
    columns = (
        Column("day", "date"),
        Column("at", "timestamp"),
        Column("yes", "boolean"),
        Column("_period", "string"),
    )
    snapshot = make_snapshot([make_table_output(warehouse, columns=columns)])
    rows = spark.sql(
        "SELECT date'2026-01-31' day, timestamp'2026-01-31 12:34:56.789Z' at, true yes, '2026-01' _period "
        "UNION ALL SELECT NULL, NULL, NULL, '2026-01'"
    )
    for attempt in (1, 2):
        publish(spark, snapshot, attempt, [rows])
    assert warehouse.query("SELECT * FROM fx ORDER BY day") == [
        ("2026-01-31", "2026-01-31 12:34:56.789+00", "true", "2026-01"),
        (None, None, None, "2026-01"),
    ]


def test_equal_rows_are_counted(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.connection.execute(TABLE)
    rows = make_rows(spark, ["a"])
    snapshot = make_snapshot([make_table_output(warehouse)])
    for attempt in (1, 2):
        publish(spark, snapshot, attempt, [rows.union(rows).union(rows.selectExpr("id", "NULL", "NULL", "_period"))])
    assert warehouse.query("SELECT name FROM fx ORDER BY name") == [("a",), ("a",), (None,)]

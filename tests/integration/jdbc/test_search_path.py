"""Names of tables without a schema, where the schema of new tables is not the one that the table is in."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import make_table_output
from tests.spark_jobs.publishing import make_rows, make_snapshot, publish, stage

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def list_places(warehouse: Warehouse) -> set[tuple[str, str]]:
    schemas = "('pg_catalog', 'information_schema')"
    return set(warehouse.query(f"SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN {schemas}"))


@pytest.mark.parametrize("schema", ["loader", 'Lo.a"der'])
def test_table_is_found_where_its_name_leads_when_the_user_gets_a_schema(
    spark: SparkSession, warehouse: Warehouse, schema: str
) -> None:
    """PostgreSQL's own search path is "$user", public: new tables go to the user's schema once there is one."""
    snapshot = make_snapshot([make_table_output(warehouse)])
    publish(spark, snapshot, 1, [make_rows(spark, ["old"])])
    zombie = Publication(spark, snapshot, 2)
    zombie.begin()
    stage(zombie, snapshot, [make_rows(spark, ["zombie"])])
    quoted = '"' + schema.replace('"', '""') + '"'
    name = warehouse.connection.info.dbname
    warehouse.connection.execute(f"CREATE SCHEMA {quoted}")  # type: ignore[arg-type]
    warehouse.connection.execute(f"ALTER DATABASE {name} SET search_path = {quoted}, public")  # type: ignore[arg-type]
    publish(spark, snapshot, 3, [make_rows(spark, ["new"])])
    with pytest.raises(JobError, match=r"RUN_002|OUTPUT_003"):
        zombie.publish()
    assert warehouse.query("SELECT name FROM public.fx") == [("new",)]
    assert list_places(warehouse) == {("public", "fx"), ("public", "runtime_publish_ledger")}


def test_table_in_a_schema_with_a_strange_name_further_on_the_path_is_found(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    name = warehouse.connection.info.dbname
    columns = "id bigint, name text, amount numeric(20,6), _period text"
    warehouse.connection.execute(f"""CREATE SCHEMA "b.Ü"; CREATE TABLE "b.Ü".fx ({columns});
        ALTER DATABASE {name} SET search_path = public, "b.Ü" """)  # type: ignore[arg-type]
    for attempt in (1, 2):
        publish(spark, make_snapshot([make_table_output(warehouse)]), attempt, [make_rows(spark, ["a"])])
    assert warehouse.query('SELECT name FROM "b.Ü".fx') == [("a",)]
    assert list_places(warehouse) == {("b.Ü", "fx"), ("b.Ü", "runtime_publish_ledger")}


def test_new_table_goes_where_the_database_makes_new_tables(spark: SparkSession, warehouse: Warehouse) -> None:
    name = warehouse.connection.info.dbname
    warehouse.connection.execute("CREATE SCHEMA loader")
    warehouse.connection.execute(f"ALTER DATABASE {name} SET search_path = loader, public")  # type: ignore[arg-type]
    publish(spark, make_snapshot([make_table_output(warehouse)]), 1, [make_rows(spark, ["a"])])
    assert list_places(warehouse) == {("loader", "fx"), ("loader", "runtime_publish_ledger")}


@pytest.mark.parametrize("table", ["runtime_publish_ledger", "public.RUNTIME_publish_ledger", "rt_stage_x"])
def test_tables_of_the_job_cannot_be_outputs(spark: SparkSession, warehouse: Warehouse, table: str) -> None:
    publish(spark, make_snapshot([make_table_output(warehouse)]), 9, [make_rows(spark, ["a"])])
    output = make_table_output(warehouse, table, write_mode="overwrite")
    with pytest.raises(JobError, match=r"OUTPUT_002.* keep what they stage and publish") as refused:
        Publication(spark, make_snapshot([output]), 10).begin()
    assert refused.value.mark == "output:50"
    assert warehouse.query("SELECT token FROM runtime_publish_ledger WHERE project = 'fx-id'") == [(9,)]

"""Iceberg and Delta tables in a running Airflow: the example, and a catalog behind a connection."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog

from tests.integration.airflow.standalone import Standalone
from tests.integration.tables.rest_catalog import CLIENT, SECRET, RestCatalogServer

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]
DAG = "intercompany-balances"


def read(airflow: Standalone) -> list[tuple[str, str, str]]:
    rows = DeltaTable(str(airflow.dags / "data" / "tables" / "results" / "balances")).to_pyarrow_table().to_pylist()
    return sorted((row["_period"], row["company"], str(row["balance"])) for row in rows)


def run(airflow: Standalone, period: str) -> None:
    run_id = airflow.trigger(DAG, conf={"period": period})
    assert airflow.wait_for_run(DAG, run_id) == "success"


def test_example_publishes_each_period_in_a_commit_and_again_after_its_ledger_has_changed(airflow: Standalone) -> None:
    data = airflow.dags / "data" / "tables"
    runpy.run_path(str(data / "make_ledger.py"), run_name="__main__")
    airflow.wait_for_dag(DAG)
    run(airflow, "2026-01")
    january = [("2026-01", "DE01", "1300.00"), ("2026-01", "US01", "-1300.00")]
    assert read(airflow) == january
    run(airflow, "2026-02")
    assert read(airflow) == [*january, ("2026-02", "DE01", "80.50")]

    with load_catalog("ledger-catalog", uri=f"sqlite:///{data / 'catalog.db'}") as catalog:
        catalog.load_table("finance.intercompany").delete("_period = '2026-01' AND company = 'US01'")
    run(airflow, "2026-01")
    assert read(airflow) == [january[0], ("2026-02", "DE01", "80.50")]
    history = DeltaTable(str(data / "results" / "balances")).history()
    assert [entry["airflow-provider-runtime.period"] for entry in history] == ["2026-01", "2026-02", "2026-01"]
    assert [entry["airflow-provider-runtime.project"] for entry in history] == ["intercompany-balances"] * 3


CATALOG = """
datasource: {id: lake, type: iceberg, options: {warehouse: lake}, credential_ref: airflow://lake_catalog}
---
resolver: {id: lake, version: 1, rules: [
  {name: lake, strategy: {type: table, datasource_id: lake, table: "finance.{{table_name}}"}}]}
---
dataset:
  id: postings
  name: Postings
  version: 1
  resolver_id: lake
  main_table:
    name: postings
    temporal_mode: period
    columns: [{name: account, type: string}, {name: amount, type: decimal, precision: 18, scale: 2}]
---
project:
  id: totals-in-the-lake
  name: totals-in-the-lake
  version: 1
  input_dataset_id: postings
  operations:
    - {seq: 10, name: total, type: aggregate, arguments:
        {group_by: [account, _period], aggregations: [{column: total, expression: SUM(amount)}]}}
    - {seq: 20, name: publish, type: output, from: [10], arguments:
        {destination: {datasource_id: lake, table: finance.totals}, columns: [account, total, _period]}}
  airflow: {schedule: null}
"""
DAGS = """
from airflow_provider_runtime.dag_factory import project_dag

dag = project_dag("totals-in-the-lake", "lake")
"""


@pytest.fixture
def lake(airflow: Standalone, tmp_path: Path) -> Iterator[RestCatalogServer]:
    """A REST catalog with postings, known to Airflow as a connection of type iceberg alone."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("finance")
    amounts = pa.array([Decimal("1.10"), Decimal("2.20")], pa.decimal128(18, 2))
    data = pa.table({"account": ["A", "A"], "amount": amounts, "_period": ["2026-01", "2026-01"]})
    catalog.create_table("finance.postings", data.schema).append(data)
    with RestCatalogServer(catalog).serving() as server:
        connection = {"conn_type": "iceberg", "host": server.uri, "login": CLIENT, "password": SECRET}
        airflow.api("POST", "/connections", {"connection_id": "lake_catalog", **connection})
        (airflow.dags / "lake").mkdir()
        (airflow.dags / "lake" / "lake.yaml").write_text(CATALOG)
        (airflow.dags / "lake.py").write_text(DAGS)
        yield server


def test_run_reads_and_commits_through_a_connection_of_type_iceberg(
    airflow: Standalone, lake: RestCatalogServer
) -> None:
    dag = "totals-in-the-lake"
    airflow.wait_for_dag(dag)
    run_id = airflow.trigger(dag, "2026-01")
    assert airflow.wait_for_run(dag, run_id) == "success", airflow.read_log(dag, run_id, "run")[-3000:]
    table = lake.catalog.load_table("finance.totals")
    assert table.scan().to_arrow().to_pylist() == [{"account": "A", "total": Decimal("3.30"), "_period": "2026-01"}]
    assert lake.commits == 1
    summary = table.current_snapshot().summary.additional_properties
    assert (summary["airflow-provider-runtime.project"], summary["airflow-provider-runtime.period"]) == (dag, "2026-01")
    logs = [airflow.read_log(dag, run_id, task) for task in ("resolve", "run")]
    assert [log for log in logs if SECRET in log] == []

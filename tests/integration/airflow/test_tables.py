"""The example that reads an Iceberg ledger and publishes into a Delta table, in a running Airflow."""

from __future__ import annotations

import runpy

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from tests.integration.airflow.standalone import Standalone

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

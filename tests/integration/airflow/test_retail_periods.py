"""A 4-4-5 calendar: periods of four and five weeks, and the quarter that they make."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.airflow.standalone import Standalone
from tests.integration.airflow.test_monthly_close import read_table

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]

PERIODS = ["FY2026-P01", "FY2026-P02", "FY2026-P03"]


@pytest.fixture(scope="module")
def sold(airflow: Standalone) -> list[dict[str, Any]]:
    """The runs of a backfill over REST."""
    airflow.wait_for_dag("quarterly-sales")
    airflow.wait_for_dag("store-sales")
    body = {
        "dag_id": "store-sales",
        "from_date": "2026-02-01T00:00:00Z",
        "to_date": "2026-04-30T00:00:00Z",
        "run_backwards": False,
        "max_active_runs": 2,
        "reprocess_behavior": "none",
        "dag_run_conf": {},
    }
    planned = airflow.api("POST", "/backfills/dry_run", body)["backfills"]
    assert [entry["partition_key"] for entry in planned] == PERIODS
    airflow.api("POST", "/backfills", body)
    return airflow.wait_for_runs("store-sales", 3)


def test_backfill_over_the_rest_api_makes_one_run_per_retail_period(
    airflow: Standalone, sold: list[dict[str, Any]]
) -> None:
    assert sorted(run["partition_key"] for run in sold) == PERIODS
    assert {run["state"] for run in sold} == {"success"}
    assert {row["_period"] for row in read_table(airflow, "store_sales")} == set(PERIODS)


def test_retail_quarter_rolls_up_its_three_periods(airflow: Standalone, sold: list[dict[str, Any]]) -> None:
    runs = airflow.wait_for_runs("quarterly-sales", 1)

    assert [(run["partition_key"], run["state"]) for run in runs] == [("FY2026-Q1", "success")]

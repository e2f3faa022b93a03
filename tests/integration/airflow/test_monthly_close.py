"""A month is closed by a backfill; what reads it runs after it; doing it again changes nothing."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from tests.integration.airflow.standalone import DONE, Standalone, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]

MONTHS = ["2026-01", "2026-02", "2026-03"]


def read_table(airflow: Standalone, name: str) -> list[dict[str, Any]]:
    """Return all rows of an output, read without our code."""
    folder = airflow.dags / "warehouse" / name
    rows = [row for file in sorted(folder.rglob("*.parquet")) for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(rows, key=lambda row: json.dumps(row, default=str, sort_keys=True))


def count_postings(airflow: Standalone, month: str) -> int:
    with Path(airflow.dags, "data/fx_close/transactions", f"{month}.csv").open() as file:
        return sum(1 for row in csv.DictReader(file) if Decimal(row["amount_local"] or "1") != 0)


@pytest.fixture(scope="module")
def closed(airflow: Standalone) -> list[dict[str, Any]]:
    """The runs of a backfill of three months, with everything that waits for them switched on."""
    for dag_id in ("budget-review", "quarterly-close", "fx-close"):
        airflow.wait_for_dag(dag_id)
    airflow.command(
        "backfill", "create", "--dag-id", "fx-close", "--from-date", "2026-01-01", "--to-date", "2026-03-31"
    )
    return airflow.wait_for_runs("fx-close", 3)


def test_backfill_by_command_makes_one_run_a_month(closed: list[dict[str, Any]]) -> None:
    assert sorted(run["partition_key"] for run in closed) == MONTHS
    assert {run["state"] for run in closed} == {"success"}
    assert all(run["logical_date"] is None for run in closed)


def test_backfilled_months_are_each_in_the_output_once(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    counts = Counter(row["_period"] for row in read_table(airflow, "ledger_usd"))

    assert counts == {month: count_postings(airflow, month) for month in MONTHS}


def test_log_of_a_run_is_one_screen_and_ends_with_the_version(
    airflow: Standalone, closed: list[dict[str, Any]]
) -> None:
    run_id = closed[0]["dag_run_id"]
    seen = airflow.read_unfolded_log("fx-close", run_id, "run")
    own = [line for line in seen if not line.startswith("::group::")]

    assert len(seen) <= 50
    assert own[0].startswith(f"fx-close version 1, period {closed[0]['partition_key']}: succeeded in ")
    assert any(line.startswith("input: ") for line in own)
    assert any("without" in line for line in own)
    assert sum("warehouse/ledger_usd" in line or "ledger_usd" in line for line in own if line.startswith("output")) == 1
    assert any(line.startswith("registered Monthly Close version ") for line in own[-2:])
    whole = airflow.read_log("fx-close", run_id, "run")
    assert "FutureWarning" not in whole
    assert "deprecated" not in whole


def test_note_of_a_run_shows_period_and_result(closed: list[dict[str, Any]]) -> None:
    for run in closed:
        assert re.fullmatch(
            rf"{run['partition_key']}: [0-9,]+ rows, \d outputs, Monthly Close v\d", run["note"].splitlines()[0]
        )


def test_links_of_a_task_open_its_evidence_snapshot_and_report(
    airflow: Standalone, closed: list[dict[str, Any]]
) -> None:
    run = closed[0]
    run_id = quote(run["dag_run_id"], safe="")
    for task in ("resolve", "run"):
        links = airflow.api("GET", f"/dags/fx-close/dagRuns/{run_id}/taskInstances/{task}/links")["extra_links"]
        assert f"/plugin/periods?dag=fx-close&project=fx-close&period={run['partition_key']}" in links["Evidence"]
        snapshot = airflow.open(links["Snapshot"])
        assert snapshot["period"]["identifier"] == run["partition_key"]
        if task == "run":
            assert airflow.open(links["Run report"])["status"] == "succeeded"


def test_xcom_of_resolve_holds_the_pins_only(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    run_id = closed[0]["dag_run_id"].replace("+", "%2B").replace(":", "%3A")
    entry = airflow.api("GET", f"/dags/fx-close/dagRuns/{run_id}/taskInstances/resolve/xcomEntries/return_value")
    pins = entry["value"] if isinstance(entry["value"], dict) else json.loads(entry["value"])

    assert set(pins) == {"run_id", "snapshot_uri", "snapshot_sha256", "period", "resolver_snapshot"}
    assert pins["period"] == closed[0]["partition_key"]
    assert len(json.dumps(pins)) < 4000


def test_asset_events_carry_period_version_and_rows(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    # Airflow 3.3 answers with an error while a run that an event has created is still queued.
    airflow.wait_for_runs("budget-review", 3)
    airflow.wait_for_runs("quarterly-close", 1)
    events = airflow.api("GET", "/assets/events?limit=100")["asset_events"]
    found = [event for event in events if event["uri"] == "runtime://datasets/Monthly%20Close"]

    assert {event["extra"]["period"] for event in found} >= set(MONTHS)
    assert {"version", "rows", "snapshot_sha256", "run_id"} <= set(found[0]["extra"])


def test_project_that_reads_the_close_runs_for_each_month(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    runs = airflow.wait_for_runs("budget-review", 3)

    assert {run["partition_key"] for run in runs} == set(MONTHS)
    assert {run["state"] for run in runs} == {"success"}
    assert {row["_period"] for row in read_table(airflow, "budget_review")} == set(MONTHS)


def test_quarter_runs_once_when_its_months_are_published(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    runs = airflow.wait_for_runs("quarterly-close", 1)
    months = [row for row in read_table(airflow, "monthly_close") if row["actual_usd"] is not None]
    quarter = read_table(airflow, "quarterly_close")

    assert [(run["partition_key"], run["state"]) for run in runs] == [("2026-Q1", "success")]
    assert {row["_period"] for row in quarter} == {"2026-Q1"}
    assert sum(row["actual_usd"] or 0 for row in quarter) == sum(row["actual_usd"] for row in months)


def test_reprocessing_a_month_leaves_the_same_rows(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    for dag_id in ("budget-review", "quarterly-close"):
        # What waits for the close has been looked at; doing it again would only take time.
        airflow.api("PATCH", f"/dags/{dag_id}", {"is_paused": True})
    before = {name: read_table(airflow, name) for name in ("ledger_usd", "monthly_close")}
    wait_for("the first backfill to be over", lambda: _is_backfill_over(airflow, "fx-close"))

    airflow.command(
        "backfill", "create", "--dag-id", "fx-close", "--from-date", "2026-01-01", "--to-date", "2026-01-31",
        "--reprocess-behavior", "completed",
    )  # fmt: skip
    runs = airflow.wait_for_runs("fx-close", 4)

    assert [run["partition_key"] for run in runs].count("2026-01") == 2
    assert {run["state"] for run in runs} == {"success"}
    assert {name: read_table(airflow, name) for name in before} == before


def test_clearing_the_run_task_executes_the_same_snapshot_again(
    airflow: Standalone, closed: list[dict[str, Any]]
) -> None:
    run = next(run for run in closed if run["partition_key"] == "2026-02")
    before = read_table(airflow, "ledger_usd")
    body = {"dry_run": False, "task_ids": ["run"], "dag_run_id": run["dag_run_id"], "only_failed": False}

    airflow.api("POST", "/dags/fx-close/clearTaskInstances", body)
    wait_for(
        "the run to start again", lambda: airflow.list_tasks("fx-close", run["dag_run_id"])["run"]["state"] not in DONE
    )
    state = airflow.wait_for_run("fx-close", run["dag_run_id"])
    tasks = airflow.list_tasks("fx-close", run["dag_run_id"])
    reports = [path.name for path in airflow.home.glob(".runtime/snapshots/reports/*/*.json")]

    assert state == "success"
    assert tasks["resolve"]["try_number"] == 1
    assert tasks["run"]["try_number"] == 2
    assert len(reports) == len(set(reports)) >= 5
    assert read_table(airflow, "ledger_usd") == before


def test_late_run_calls_the_callback_and_backfills_do_not(airflow: Standalone, closed: list[dict[str, Any]]) -> None:
    run_id = airflow.trigger("fx-close", "2026-03")
    record = airflow.home / "late.jsonl"

    def read_late() -> list[dict[str, Any]]:
        lines = record.read_text().splitlines() if record.exists() else []
        # Another test's run of a month without data is late as well.
        return [entry for entry in map(json.loads, lines) if entry["partition_key"] in MONTHS]

    late = wait_for("the deadline's callback", read_late, timeout_seconds=120)
    assert {entry["partition_key"] for entry in late} == {"2026-03"}
    assert late[0]["project"] == "fx-close"
    assert airflow.wait_for_run("fx-close", run_id) == "success"


def test_dags_written_by_hand_run_and_are_cleared_by_partition_key(
    airflow: Standalone, closed: list[dict[str, Any]]
) -> None:
    for dag_id in ("by-hand", "group-by-hand", "fx-close-on-demand"):
        airflow.wait_for_dag(dag_id)
    runs = {
        "by-hand": airflow.trigger("by-hand", "2026-01"),
        "group-by-hand": airflow.trigger("group-by-hand", "2026-02"),
        "fx-close-on-demand": airflow.trigger("fx-close-on-demand", conf={"period": "2026-02"}),
    }

    assert {dag_id: airflow.wait_for_run(dag_id, run_id) for dag_id, run_id in runs.items()} == dict.fromkeys(
        runs, "success"
    )
    assert "2026-02" in {row["_period"] for row in read_table(airflow, "valuation")}

    airflow.command("dags", "clear", "group-by-hand", "--partition-key", "2026-02", "--yes")
    wait_for("the run to start again", lambda: airflow.list_runs("group-by-hand")[0]["state"] not in DONE, 30)
    assert airflow.wait_for_run("group-by-hand", runs["group-by-hand"]) == "success"


def _is_backfill_over(airflow: Standalone, dag_id: str) -> bool:
    backfills = airflow.api("GET", f"/backfills?dag_id={dag_id}")["backfills"]
    return all(backfill["completed_at"] for backfill in backfills)

"""Mapped tasks and `airflow dags test`, in a real Airflow."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.integration.airflow.standalone import Standalone

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]


def test_months_are_run_one_by_one_and_a_failure_is_reported(airflow: Standalone) -> None:
    airflow.wait_for_dag("restate-months")
    run_id = airflow.trigger("restate-months", conf={"months": ["2026-02", "2025-05"]})
    assert airflow.wait_for_run("restate-months", run_id) == "success"
    quoted = quote(run_id, safe="")
    tasks = airflow.api("GET", f"/dags/restate-months/dagRuns/{quoted}/taskInstances")["task_instances"]
    states = {(task["task_id"], task["rendered_map_index"]): task["state"] for task in tasks}
    assert states["run", "2026-02"] == "success"
    assert states["run", "2025-05"] == "failed"
    entry = airflow.api(
        "GET", f"/dags/restate-months/dagRuns/{quoted}/taskInstances/summarize/xcomEntries/return_value"
    )
    rows = entry["value"] if isinstance(entry["value"], dict) else json.loads(entry["value"])
    assert set(rows) == {"2026-02"}
    failed = next(task for task in tasks if task["rendered_map_index"] == "2025-05" and task["task_id"] == "run")
    path = f"/dags/restate-months/dagRuns/{quoted}/taskInstances/run/logs/{failed['try_number']}"
    log = json.dumps(airflow.api("GET", f"{path}?full_content=true&map_index={failed['map_index']}"))
    assert "DATA_001 in " in log


def test_dag_is_tested_in_one_process(airflow: Standalone) -> None:
    printed = airflow.command("dags", "test", "restate-months", "--conf", json.dumps({"months": ["2026-01"]}))
    assert "'2026-01': 6" in printed

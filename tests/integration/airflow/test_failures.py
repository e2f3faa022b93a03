"""What goes wrong, and what a user sees of it."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.airflow.standalone import Standalone, wait_for
from tests.integration.airflow.test_monthly_close import read_table

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]


def fail(airflow: Standalone, dag_id: str, task_id: str, key: str) -> str:
    """Run a DAG that fails at a task; return the task's log after checking that it was tried once."""
    airflow.wait_for_dag(dag_id)
    run_id = airflow.trigger(dag_id, key)
    assert airflow.wait_for_run(dag_id, run_id) == "failed"
    task = airflow.list_tasks(dag_id, run_id)[task_id]
    assert (task["state"], task["try_number"]) == ("failed", 1)
    return airflow.read_log(dag_id, run_id, task_id)


def test_wrong_project_fails_at_once_with_code_place_and_hint(airflow: Standalone) -> None:
    log = fail(airflow, "broken", "resolve", "2026-01")

    assert "EXPR_002" in log or "UPDATE_005" in log
    assert "broken.yaml:" in log
    assert "amuont" in log
    assert "amount" in log


def test_missing_spark_connection_fails_at_once_with_its_id(airflow: Standalone) -> None:
    log = fail(airflow, "unconnected", "run", "2026-01")

    assert "Spark connection 'nowhere' is not defined" in log


def test_log_of_a_missing_file_begins_with_cause_place_and_hint(airflow: Standalone) -> None:
    airflow.wait_for_dag("fx-close")
    run_id = airflow.trigger("fx-close", "2025-11")
    assert airflow.wait_for_run("fx-close", run_id) == "failed"
    seen = airflow.read_unfolded_log("fx-close", run_id, "run")
    own = [line for line in seen if not line.startswith("::group::")]
    # The runs of this DAG are counted elsewhere.
    airflow.api("DELETE", f"/dags/fx-close/dagRuns/{quote(run_id, safe='')}")

    assert seen.index(own[0]) <= 3
    assert own[0].startswith("DATA_001 ")
    assert "2025-11" in own[0]
    assert own[1].startswith("  --> ")
    assert ".yaml:" in own[1]
    assert own[2].startswith("  hint: ")


def test_period_that_has_not_ended_is_refused(airflow: Standalone) -> None:
    now = datetime.now(UTC)

    assert "PERIOD_004" in fail(airflow, "valuation", "resolve", f"{now.year}-{now.month:02}")


def test_previous_period_that_never_comes_fails_the_wait(airflow: Standalone) -> None:
    log = fail(airflow, "in-order", "resolve", "2026-03")

    assert "PERIOD_005" in log
    assert "waiting for 2026-02 to be published" in log


def test_data_that_come_late_are_waited_for_without_a_worker_and_then_pinned(airflow: Standalone) -> None:
    airflow.wait_for_dag("late")
    run_id = airflow.trigger("late", "2026-03")
    wait_for(
        "the task to give its worker back",
        lambda: airflow.list_tasks("late", run_id)["resolve"]["state"] == "up_for_reschedule",
    )
    holdings = airflow.dags / "data" / "positions" / "holdings"

    (holdings / "2026-03.csv").write_text((holdings / "2026-02.csv").read_text())

    assert airflow.wait_for_run("late", run_id) == "success"
    log = airflow.read_log("late", run_id, "resolve")
    assert "waiting for data, up to 1:00:00" in log
    assert "holdings/2026-03.csv" in log
    assert [row for row in read_table(airflow, "valuation") if row["_period"] == "2026-03"]


def test_driver_that_is_killed_is_tried_again_and_publishes_once(airflow: Standalone) -> None:
    airflow.wait_for_dag("killed")
    run_id = airflow.trigger("killed", "2026-01")
    victim = wait_for("the driver to start", lambda: find_driver(airflow.home), timeout_seconds=60, pause_seconds=0.1)

    os.kill(victim, signal.SIGKILL)

    assert airflow.wait_for_run("killed", run_id) == "success"
    assert airflow.list_tasks("killed", run_id)["run"]["try_number"] == 2
    rows = [row for row in read_table(airflow, "valuation") if row["_period"] == "2026-01"]
    assert rows
    assert len(rows) == len({tuple(row.items()) for row in rows})


def test_task_process_that_is_killed_is_tried_again_and_publishes_once(airflow: Standalone) -> None:
    airflow.wait_for_dag("killed")
    run_id = airflow.trigger("killed", "2026-02")
    driver = wait_for("the driver to start", lambda: find_driver(airflow.home), timeout_seconds=60, pause_seconds=0.1)
    status = Path(f"/proc/{driver}/status").read_text()
    task_process = int(status.partition("PPid:")[2].split()[0])
    assert b"airflow" in Path(f"/proc/{task_process}/cmdline").read_bytes()

    os.kill(task_process, signal.SIGKILL)

    assert airflow.wait_for_run("killed", run_id) == "success"
    rows = [row for row in read_table(airflow, "valuation") if row["_period"] == "2026-02"]
    assert rows
    assert len(rows) == len({tuple(row.items()) for row in rows})


def find_driver(home: Path) -> int | None:
    """Return the process id of a Java process that runs our job below this home."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"SparkSubmit" in command and os.fsencode(home) in command:
                return int(entry.name)
    return None

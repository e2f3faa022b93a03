"""A blocking check that fails: the task fails at once and says why, nothing is published, an override helps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.integration.airflow.standalone import DONE, Standalone, wait_for
from tests.integration.airflow.test_monthly_close import read_table

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]

DAG = "checked"
COMMAND = str(Path(sys.executable).with_name("airflow-runtime"))


def find_xcom(airflow: Standalone, run_id: str) -> dict[str, Any] | None:
    quoted = run_id.replace("+", "%2B").replace(":", "%3A")
    address = f"/dags/{DAG}/dagRuns/{quoted}/taskInstances/run/xcomEntries"
    entries = airflow.api("GET", address)["xcom_entries"]
    if not any(entry["key"] == "return_value" for entry in entries):
        return None
    value = airflow.api("GET", f"{address}/return_value")["value"]
    found: dict[str, Any] = value if isinstance(value, dict) else json.loads(value)
    return found


def ask(airflow: Standalone, *arguments: str) -> str:
    """Run a command of ours on the registry of this Airflow."""
    registry = f"sqlite:///{airflow.home}/.runtime/registry.db"
    place = ("--registry", registry, "--catalog", str(airflow.dags / "checked_catalog"), "--project", DAG)
    done = subprocess.run([COMMAND, "checks", *place, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def failed(airflow: Standalone) -> str:
    """The id of a run whose checks have failed."""
    airflow.wait_for_dag(DAG)
    run_id = airflow.trigger(DAG, "2026-01")
    assert airflow.wait_for_run(DAG, run_id) == "failed"
    return run_id


def test_failing_check_fails_the_task_at_once_and_says_why(airflow: Standalone, failed: str) -> None:
    task = airflow.list_tasks(DAG, failed)["run"]
    log = airflow.read_log(DAG, failed, "run")

    assert (task["state"], task["try_number"], task["max_tries"]) == ("failed", 1, 2)
    assert "Check 'balanced' failed: SUM(amount) is 0.01, expected 0, difference 0.01" in log
    assert "Check 'one row a line' failed: 2 of 5 rows share journal, line with another row" in log
    assert "for example journal = J2, line = 2, amount = " in log
    assert "checked.yaml:" in log
    # A check that only warns is reported too, and does not fail the task.
    assert "check 'journals balance' warned" in log
    assert "Check 'journals balance' failed" not in log


def test_failing_check_publishes_nothing(airflow: Standalone, failed: str) -> None:
    assert not list((airflow.dags / "warehouse").glob("checked_*/period=2026-01"))
    assert find_xcom(airflow, failed) is None


def test_failing_rows_are_where_the_log_says(airflow: Standalone, failed: str) -> None:
    log = airflow.read_log(DAG, failed, "run")
    folders = {found.removeprefix("file://") for found in re.findall(r"failing rows: ([^\s\"\\]+)", log)}

    rows = [pq.read_table(folder).to_pylist() for folder in sorted(folders)]

    assert sorted(len(found) for found in rows) == [1, 2]
    assert {row["journal"] for found in rows for row in found} == {"J2"}


def test_results_of_a_failed_task_are_in_the_registry(airflow: Standalone, failed: str) -> None:
    (found,) = json.loads(ask(airflow, "--period", "2026-01", "--format", "json"))
    assert {check["name"]: check["status"] for check in found["checks"]} == {
        "balanced": "failed",
        "one row a line": "failed",
        "journals balance": "warned",
    }


def test_cleared_task_is_checked_again_and_an_override_counts_once_resolved_anew(
    airflow: Standalone, failed: str
) -> None:
    for name in ("balanced", "one row a line"):
        ask(airflow, "--period", "2026-01", "--override", name, "--reason", "the cent is known")

    assert clear(airflow, failed, "run") == "failed"
    assert not list((airflow.dags / "warehouse").glob("checked_*/period=2026-01"))
    assert clear(airflow, failed, "resolve", "run") == "success"

    assert len(read_table(airflow, "checked_lines/period=2026-01")) == 5
    xcom = find_xcom(airflow, failed)
    assert xcom is not None
    assert xcom["checks"] == {"overridden": 2, "warned": 1}
    assert len(json.dumps(xcom)) < 1000


def clear(airflow: Standalone, run_id: str, *tasks: str) -> str:
    """Run tasks of a run again; return how it ends."""
    before = airflow.list_tasks(DAG, run_id)["run"]["try_number"]
    body = {"dry_run": False, "task_ids": list(tasks), "dag_run_id": run_id, "only_failed": False}
    airflow.api("POST", f"/dags/{DAG}/clearTaskInstances", body)

    def is_done() -> bool:
        task = airflow.list_tasks(DAG, run_id)["run"]
        return task["try_number"] > before and task["state"] in DONE

    wait_for("the task to end again", is_done)
    return airflow.wait_for_run(DAG, run_id)


def test_warning_publishes_and_is_counted(airflow: Standalone, failed: str) -> None:
    run_id = airflow.trigger(DAG, "2026-02")

    assert airflow.wait_for_run(DAG, run_id) == "success"
    xcom = find_xcom(airflow, run_id)
    assert xcom is not None
    assert xcom["checks"] == {"passed": 3}

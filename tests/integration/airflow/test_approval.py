"""Approval in a real Airflow: nobody approves their own run, and an answer is final."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from airflow_provider_runtime.core.registry.sql import open_registry
from tests.integration.airflow.standalone import TASKS_DONE, Standalone, wait_for
from tests.integration.airflow.test_monthly_close import DONE

pytestmark = [pytest.mark.integration, pytest.mark.airflow, pytest.mark.timeout(900)]

DAG = "approved-close"


def get_path(run_id: str, rest: str = "") -> str:
    return f"/dags/{DAG}/dagRuns/{quote(run_id, safe='')}{rest}"


def ask(airflow: Standalone, period: str, user: str) -> tuple[str, dict[str, Any]]:
    """Let a user run a period, and return the run's id and the request that waits for an answer."""
    airflow.wait_for_dag(DAG)
    run_id = airflow.trigger(DAG, period, user=user)
    return run_id, wait_for_request(airflow, run_id)


def wait_for_request(airflow: Standalone, run_id: str) -> dict[str, Any]:
    """Return the request of a run that waits for an answer."""

    def look() -> dict[str, Any] | None:
        tasks = airflow.list_tasks(DAG, run_id)
        assert not any(task["state"] in ("failed", "upstream_failed") for task in tasks.values()), tasks
        if tasks["approve"]["state"] not in ("deferred", "awaiting_input"):
            return None
        return dict(airflow.api("GET", get_path(run_id, "/taskInstances/approve/-1/hitlDetails")))

    request: dict[str, Any] = wait_for("the request for an approval", look, timeout_seconds=400)
    # An answer that comes before the worker has ended is taken for its failure; people are not that quick.
    ended = f"TaskInstance Finished: dag_id={DAG}, task_id=approve, run_id={run_id},"
    wait_for("the end of the worker that asked", lambda: ended in airflow.log.read_text(encoding="utf-8"))
    return request


def answer(airflow: Standalone, run_id: str, user: str, option: str, comment: str = "") -> None:
    body = {"chosen_options": [option], "params_input": {"comment": comment}}
    airflow.api("PATCH", get_path(run_id, "/taskInstances/approve/-1/hitlDetails"), body, user=user)


def wait_for_tasks(airflow: Standalone, run_id: str) -> dict[str, str]:
    assert airflow.wait_for_run(DAG, run_id) in DONE
    tasks = wait_for(
        "all tasks to end",
        lambda: (
            (found := airflow.list_tasks(DAG, run_id))
            and all(t["state"] in TASKS_DONE for t in found.values())
            and found
        ),
    )
    return {name: task["state"] for name, task in tasks.items()}


def list_published(airflow: Standalone) -> list[str]:
    folder = airflow.dags / "approved_books" / "warehouse" / "approved"
    return sorted(path.name for path in folder.glob("period=*"))


def test_second_person_approves_and_a_clear_asks_nobody_again(airflow: Standalone) -> None:
    run_id, request = ask(airflow, "2026-01", "ann")
    assert list_published(airflow) == []
    assert "15.01" in request["body"]
    assert [user["name"] for user in request["assigned_users"]] == ["ben"]
    for other in ("ann", "eve"):
        with pytest.raises(AssertionError, match="403"):
            answer(airflow, run_id, other, "Approve")

    answer(airflow, run_id, "ben", "Approve", "agrees with the ledger")
    assert set(wait_for_tasks(airflow, run_id).values()) == {"success"}
    assert list_published(airflow) == ["period=2026-01"]

    tasks = {"dry_run": False, "task_ids": ["approve", "publish"], "dag_run_id": run_id, "only_failed": False}
    airflow.api("POST", f"/dags/{DAG}/clearTaskInstances", tasks, user="ann")
    assert set(wait_for_tasks(airflow, run_id).values()) == {"success"}
    (run,) = list_runs(airflow, "2026-01")
    (approval,) = open_registry(registry_url(airflow)).list_approvals(run.run_id)
    assert (approval.preparer, approval.approver, approval.decision) == ("ann", "ben", "approved")
    assert approval.comment == "agrees with the ledger"
    assert approval.at is not None


def test_refusal_discards_and_skips_the_publication(airflow: Standalone) -> None:
    run_id, _ = ask(airflow, "2026-02", "ben")
    answer(airflow, run_id, "ann", "Reject", "the south is missing")
    states = wait_for_tasks(airflow, run_id)
    assert (states["approve"], states["publish"]) == ("success", "skipped")
    assert "period=2026-02" not in list_published(airflow)
    (run,) = list_runs(airflow, "2026-02")
    assert run.status == "discarded"
    assert run.error is not None
    assert "ann: the south is missing" in run.error["message"]
    staged = airflow.dags / "approved_books" / "warehouse" / "approved"
    assert not [path for path in staged.rglob("*.parquet") if "period=2026-01" not in str(path)]


def registry_url(airflow: Standalone) -> str:
    return f"sqlite:///{airflow.home}/.runtime/registry.db"


def list_runs(airflow: Standalone, period: str) -> list[Any]:
    return open_registry(registry_url(airflow)).list_runs(project=DAG, period=period)

"""Approving and refusing on the board: by the rules of the command line, for the very rows that wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators import hitl
from fastapi.testclient import TestClient
from httpx import Response

from airflow_provider_runtime.board import decisions
from tests.airflow.board.conftest import ORIGIN, Rights, User
from tests.airflow.tasks import FakeSpark
from tests.airflow.test_approval import Close, require_approval

pytestmark = pytest.mark.airflow

WAITING = {"dag_id": "fx-close", "run_id": "backfill__1", "task_id": "approve", "map_index": -1}


@pytest.fixture
def close(home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, rights: Rights) -> Close:
    require_approval(home)
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **request: None)
    monkeypatch.setattr(decisions, "find_request", lambda place: WAITING)
    made = Close(home, spark, [])
    made.stage()
    return made


def decide(
    client: TestClient, close: Close, decision: str, period: str = "2026-01", dag_id: str = "fx-close"
) -> Response:
    body = {"run_id": close.pins["run_id"], "decision": decision, "reason": "totals agree"}
    return client.post(f"/api/dags/{dag_id}/periods/{period}/decisions", json=body, headers=ORIGIN)


def see(client: TestClient) -> Any:
    return client.get("/api/dags/fx-close/periods/2026-01").json()


def test_evidence_shows_what_waits_and_for_whom(client: TestClient, close: Close) -> None:
    shown = see(client)
    waiting = shown["waiting"]
    assert shown["state"] == "staged"
    assert (waiting["run_id"], waiting["preparer"], waiting["approvers"]) == (close.pins["run_id"], "ann", ["ben"])
    assert (waiting["needs_approval"], waiting["decision"]) == (True, None)
    cells = client.get("/api/dags/fx-close/board").json()["projects"][0]["cells"]
    assert cells["2026-01"]["approval"] == "waiting for a decision"


def test_approver_approves_and_the_waiting_task_publishes(client: TestClient, close: Close, user: User) -> None:
    user.name = "ben"
    answer = decide(client, close, "approved")
    assert answer.status_code == 200
    assert answer.json()["request"] == WAITING
    (kept,) = close.registry.list_approvals(close.pins["run_id"])
    assert (kept.decision, kept.approver, kept.preparer, kept.host) == ("approved", "ben", "ann", "airflow")
    assert (kept.comment, kept.token) == ("totals agree", close.record.token)
    # What the page sends to the task next is the same decision: it is kept once.
    assert close.answer("ben", comment="totals agree")["decision"] == "approved"
    assert len(close.registry.list_approvals(close.pins["run_id"])) == 1
    assert close.publish()["status"] == "succeeded"
    assert see(client)["approval"]["who"] == "ben"


def test_rows_of_a_closed_period_are_not_approved(client: TestClient, close: Close, user: User) -> None:
    user.name = "ben"
    close.registry.set_period_status("gregorian", "2026-01", "closed", who="ann", reason="done")
    answer = decide(client, close, "approved")
    assert answer.status_code == 409
    assert "PERIOD_002" in answer.text
    assert close.registry.list_approvals(close.pins["run_id"]) == []
    assert decide(client, close, "refused").status_code == 200


def test_status_that_a_period_has_already_is_not_set_again(client: TestClient, close: Close) -> None:
    address = "/api/dags/fx-close/periods/2026-01/status"
    for status, answers in (("open", [409]), ("closed", [200, 409])):
        for answer in answers:
            body = {"status": status, "reason": "done"}
            assert client.post(address, json=body, headers=ORIGIN).status_code == answer


def test_answer_that_got_lost_is_given_again(client: TestClient, close: Close, user: User) -> None:
    user.name = "ben"
    assert decide(client, close, "approved").json() == decide(client, close, "approved").json()
    assert len(close.registry.list_approvals(close.pins["run_id"])) == 1
    assert see(client)["waiting"]["decision"]["who"] == "ben"


@pytest.mark.parametrize(("name", "why"), [("ann", "cannot approve it"), ("cid", "is not an approver")])
def test_preparer_and_strangers_cannot_approve(
    client: TestClient, close: Close, user: User, name: str, why: str
) -> None:
    user.name = name
    answer = decide(client, close, "approved")
    assert answer.status_code == 409
    assert "APPROVAL_001" in answer.json()["detail"]
    assert why in answer.json()["detail"]
    assert close.registry.list_approvals(close.pins["run_id"]) == []


def test_refusal_discards_what_was_staged(client: TestClient, close: Close, user: User) -> None:
    user.name = "ben"
    answer = decide(client, close, "refused")
    assert answer.status_code == 200
    assert "discarded" in answer.json()["message"]
    assert close.record.status == "discarded"
    assert see(client)["waiting"] is None
    assert close.answer("ben", option="Reject", comment="totals agree")["decision"] == "refused"
    assert decide(client, close, "approved").status_code == 409


@pytest.mark.parametrize(("dag_id", "period"), [("budget-review", "2026-01"), ("fx-close", "2026-02")])
def test_run_of_another_project_or_period_is_not_found(
    client: TestClient, close: Close, user: User, dag_id: str, period: str
) -> None:
    user.name = "ben"
    assert decide(client, close, "approved", period, dag_id).status_code == 404
    for name in ("snapshot.json", "report.json"):
        path = f"/api/dags/{dag_id}/periods/{period}/{name}"
        assert client.get(path, params={"run_id": close.pins["run_id"]}).status_code == 404


def test_reader_cannot_decide(client: TestClient, close: Close, user: User, rights: Rights) -> None:
    user.name = "ben"
    rights.editable = {"budget-review"}
    assert decide(client, close, "approved").status_code == 403
    assert close.registry.list_approvals(close.pins["run_id"]) == []


def test_snapshot_is_shown_as_it_was_written_and_the_report_without_rows(client: TestClient, close: Close) -> None:
    place = "/api/dags/fx-close/periods/2026-01"
    query = {"run_id": close.pins["run_id"]}
    snapshot = client.get(f"{place}/snapshot.json", params=query)
    assert snapshot.content == Path(close.pins["snapshot_uri"].removeprefix("file://")).read_bytes()
    report = client.get(f"{place}/report.json", params=query)
    assert report.json()["status"] == "staged"
    assert "sample" not in report.text

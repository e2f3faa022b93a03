"""The board's API: closed to strangers, open as Airflow's auth manager says, acting for its own pages only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from airflow_provider_runtime.board.app import make_app
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.board.conftest import ORIGIN, Rights
from tests.airflow.tasks import FakeSpark, FakeTask

CLOSE = {"status": "closed", "reason": "books are done"}
BODIES = {
    "status": CLOSE,
    "overrides": {"check": "any", "reason": "x"},
    "withdraw": {"check": "any", "reason": "x"},
    "decisions": {"run_id": "any", "decision": "approved", "reason": "x"},
}
STATUS = "/api/dags/fx-close/periods/2026-01/status"


def list_calls() -> list[tuple[str, str]]:
    values = {"dag_id": "fx-close", "period": "2026-01", "run_id": "manual"}
    return [
        (method, re.sub(r"{(\w+)}", lambda match: values[match[1]], route.path))
        for route in make_app().routes
        if isinstance(route, APIRoute)
        for method in route.methods
    ]


def test_there_is_no_route_but_those_of_the_api() -> None:
    assert all(isinstance(route, APIRoute) for route in make_app().routes)
    assert len(list_calls()) >= 8


@pytest.mark.parametrize(("method", "path"), list_calls())
def test_stranger_is_asked_to_log_in(stranger: TestClient, method: str, path: str) -> None:
    assert stranger.request(method, path, json=CLOSE, headers=ORIGIN).status_code == 401


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_there_are_no_pages_of_documentation(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(("method", "path"), [call for call in list_calls() if "fx-close" in call[1]])
def test_dag_that_somebody_may_not_read_is_refused(client: TestClient, rights: Rights, method: str, path: str) -> None:
    rights.readable = {"budget-review"}
    assert client.request(method, path, json=CLOSE, headers=ORIGIN).status_code == 403


def test_board_shows_only_readable_projects(client: TestClient, rights: Rights) -> None:
    rights.readable = {"fx-close"}
    answer = client.get("/api/board").json()
    assert [project["project"] for project in answer["projects"]] == ["fx-close"]


def test_board_has_a_state_for_every_period_that_is_due(client: TestClient) -> None:
    answer = client.get("/api/board", params={"year": "2026"}).json()
    cells = answer["projects"][1]["cells"]
    assert {cell["state"] for cell in cells.values()} == {"missing"}
    assert [period["period"] for period in answer["periods"]][:2] == ["2026-01", "2026-02"]


def test_reader_without_the_right_to_edit_cannot_act(client: TestClient, rights: Rights) -> None:
    rights.editable = set()
    assert client.post(STATUS, json=CLOSE, headers=ORIGIN).status_code == 403
    assert client.get("/api/dags/fx-close/periods/2026-01").json()["may_edit"] is False


def test_right_for_another_dag_does_not_help(client: TestClient, rights: Rights) -> None:
    rights.editable = {"budget-review"}
    body = {**CLOSE, "dag_id": "budget-review"}
    assert client.post(STATUS, json=body, headers=ORIGIN, params={"dag_id": "budget-review"}).status_code == 403


@pytest.mark.parametrize("origin", [{}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}])
def test_other_origins_cannot_act(client: TestClient, origin: dict[str, str]) -> None:
    assert client.post(STATUS, json=CLOSE, headers=origin).status_code == 403


def test_only_json_acts(client: TestClient) -> None:
    headers = {**ORIGIN, "Content-Type": "text/plain"}
    answer = client.post(STATUS, content='{"status": "closed", "reason": "x"}', headers=headers)
    assert answer.status_code in (415, 422)


@pytest.mark.parametrize(
    "body",
    [
        {"status": "closed"},
        {"status": "closed", "reason": "  "},
        {"status": "shut", "reason": "x"},
        {**CLOSE, "who": "eve"},
    ],
)
def test_body_that_is_not_complete_is_refused(client: TestClient, body: dict[str, str]) -> None:
    assert client.post(STATUS, json=body, headers=ORIGIN).status_code == 422


def test_closing_is_recorded_in_the_registry_with_name_and_reason(client: TestClient, home: Path) -> None:
    assert client.post(STATUS, json=CLOSE, headers=ORIGIN).json() == {"message": "2026-01 is closed"}
    registry = open_registry(f"sqlite:///{home}/.runtime/registry.db")
    record = registry.get_period("gregorian", "2026-01")
    assert (record.status, record.who, record.reason) == ("closed", "ann", "books are done")
    assert client.get("/api/dags/fx-close/periods/2026-01").json()["status"] == "closed"


def test_locked_period_stays_locked(client: TestClient) -> None:
    client.post(STATUS, json={"status": "locked", "reason": "audited"}, headers=ORIGIN)
    answer = client.post(STATUS, json={"status": "open", "reason": "oops"}, headers=ORIGIN)
    assert answer.status_code == 409
    assert "PERIOD_002" in answer.json()["detail"]


def test_lock_leaves_its_mark_at_the_tables_of_the_period(client: TestClient, home: Path, spark: FakeSpark) -> None:
    task = FakeTask()
    pins = ResolveOperator(task_id="resolve", project="fx-close").execute(task.context("resolve"))
    RunProjectOperator(task_id="run", snapshot=pins).execute(task.context())
    client.post(STATUS, json={"status": "locked", "reason": "audited"}, headers=ORIGIN)
    marks = list((home / "warehouse").glob(".*.runtime/locks/gregorian/2026-01"))
    assert marks
    assert {json.loads(mark.read_bytes())["who"] for mark in marks} == {"ann"}


@pytest.mark.parametrize("period", ["2026-13", "never", "2026-Q1"])
def test_unknown_period_is_reported(client: TestClient, period: str) -> None:
    answer = client.get(f"/api/dags/fx-close/periods/{period}")
    assert answer.status_code == 409
    assert "PERIOD_001" in answer.json()["detail"]


def test_unknown_check_cannot_be_overridden(client: TestClient) -> None:
    body = {"check": "nothing", "reason": "x"}
    answer = client.post("/api/dags/fx-close/periods/2026-01/overrides", json=body, headers=ORIGIN)
    assert answer.status_code == 409
    assert "CHECK_002" in answer.json()["detail"]


def test_evidence_file_runs_nothing(client: TestClient) -> None:
    answer = client.get("/api/dags/fx-close/periods/2026-01/evidence.html")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "fx-close" in answer.text


def test_bundle_is_served_as_a_script(client: TestClient) -> None:
    answer = client.get("/static/board.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "AirflowPlugin" in answer.text


ACTING = [path for method, path in list_calls() if method == "POST"]


def test_every_acting_route_is_attacked() -> None:
    assert len(ACTING) == 4


@pytest.mark.parametrize("path", ACTING)
@pytest.mark.parametrize("origin", [{}, {"Origin": "https://elsewhere.example"}, {"Origin": "http://testserver.evil"}])
def test_no_acting_route_takes_another_origin(client: TestClient, path: str, origin: dict[str, str]) -> None:
    assert client.post(path, json=BODIES[path.rsplit("/")[-1]], headers=origin).status_code == 403


@pytest.mark.parametrize("path", ACTING)
def test_no_acting_route_takes_anything_but_json(client: TestClient, path: str) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = client.post(path, content=b"status=closed&reason=x", headers={**ORIGIN, "Content-Type": kind})
        assert answer.status_code in (415, 422)


@pytest.mark.parametrize("path", ACTING)
def test_huge_bodies_are_not_read(stranger: TestClient, client: TestClient, path: str) -> None:
    body = {**BODIES[path.rsplit("/")[-1]], "reason": "x" * 100_000}
    assert stranger.post(path, json=body, headers=ORIGIN).status_code == 413
    chunks = (b"x" * 10_000 for _ in range(10))
    headers = {**ORIGIN, "Content-Type": "application/json"}
    assert client.post(path, content=chunks, headers=headers).status_code == 413


@pytest.mark.parametrize("path", ACTING)
def test_rights_are_those_of_the_dag_in_the_path(client: TestClient, rights: Rights, path: str) -> None:
    rights.editable = {"budget-review"}
    body = {**BODIES[path.rsplit("/")[-1]], "dag_id": "budget-review"}
    for query in ({}, {"dag_id": "budget-review"}, {"project": "budget-review"}):
        assert client.post(path, json=body, headers=ORIGIN, params=query).status_code == 403


@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..%2fetc", "fx-close%00", "a" * 5000, "'; DROP TABLE x; --"])
def test_strange_names_are_not_found(client: TestClient, name: str) -> None:
    for path in (f"/api/dags/{name}/periods/2026-01", f"/api/dags/fx-close/periods/{name}", f"/static/{name}"):
        assert client.get(path).status_code in (403, 404, 409)
    query = {"run_id": name}
    assert client.get("/api/dags/fx-close/periods/2026-01/snapshot.json", params=query).status_code in (404, 422)


@pytest.mark.parametrize("path", ACTING)
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 60_000, b'{"reason": ' + b"9" * 60_000 + b"}"],
    ids=["nothing", "half", "list", "null", "not text", "deep", "long number"],
)
def test_bodies_that_are_not_an_object_are_refused(client: TestClient, path: str, content: bytes) -> None:
    headers = {**ORIGIN, "Content-Type": "application/json"}
    assert client.post(path, content=content, headers=headers).status_code in (400, 422)


@pytest.mark.parametrize("path", ACTING)
@pytest.mark.parametrize("text", ["\\ud800", "a\\u0000b", "\\u0007"], ids=["half a character", "NUL", "bell"])
def test_text_that_no_database_keeps_is_refused(client: TestClient, path: str, text: str) -> None:
    for key in ("reason", "check", "run_id"):
        body = {**BODIES[path.rsplit("/")[-1]], key: "@"}
        content = json.dumps(body).replace('"@"', f'"{text}"')
        headers = {**ORIGIN, "Content-Type": "application/json"}
        assert client.post(path, content=content, headers=headers).status_code == 422
    for name in ("snapshot.json", "report.json"):
        answer = client.get(f"/api/dags/fx-close/periods/2026-01/{name}", params={"run_id": "a\0b"})
        assert answer.status_code == 422


def test_answer_to_a_wrong_body_says_what_is_wrong_with_which_field(client: TestClient) -> None:
    answer = client.post(STATUS, json={"status": "shut", "who": "eve"}, headers=ORIGIN)
    assert answer.status_code == 422
    for told in ("status: ", "reason: Field required", "who: Extra inputs"):
        assert told in answer.json()["detail"]


def test_reason_may_have_lines_and_any_language(client: TestClient) -> None:
    body = {**CLOSE, "reason": "Bücher sind zu\nご確認ください"}
    assert client.post(STATUS, json=body, headers=ORIGIN).status_code == 200


@pytest.mark.parametrize(("method", "path"), list_calls())
def test_other_methods_are_not_answered(client: TestClient, method: str, path: str) -> None:
    for other in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - {method}:
        assert client.request(other, path, headers=ORIGIN).status_code == 405

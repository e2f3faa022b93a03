"""Requests that no page sends: each is refused with a message, and none is a server error."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from airflow_provider_runtime.board import access, evidence
from tests.airflow.board.conftest import ORIGIN, Rights
from tests.airflow.board.test_routes import BODIES, CLOSE, list_calls

pytestmark = pytest.mark.airflow

MARKUP = "<script>alert(1)</script>"
NAMES = [
    MARKUP.replace("/", "%2f"), "..%2f..%2fetc%2fpasswd", "%00", "a%00b", "%ff", "%ed%a0%80", "%0d%0aX-Evil:%201",
    "%20", "{{7*7}}", "' OR 1=1 --", "secret-project", "9999999999-01", "２０２６-０１", "a" * 3000,
]  # fmt: skip
SHAPES: list[Any] = [None, True, 0, 1e300, [], ["x"], {}, {"$ne": 1}, "", " ", "x" * 5000]
OF_A_DAG = [(method, path) for method, path in list_calls() if "fx-close" in path]


@pytest.fixture(autouse=True)
def _no_dag_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "find_dag_run", lambda dag_id, run_id: None)


def get_body(path: str) -> dict[str, str]:
    return BODIES.get(path.rsplit("/")[-1], CLOSE)


def is_refused_in_words(answer: Any) -> bool:
    is_json = answer.headers["content-type"] == "application/json"
    return 400 <= answer.status_code < 500 and is_json and isinstance(answer.json()["detail"], str)


PLACES = [(*call, place) for call in OF_A_DAG for place in ("fx-close", "2026-01", "manual") if place in call[1]]


@pytest.mark.parametrize(("method", "path", "place"), PLACES)
def test_names_in_the_path_find_nothing_or_are_refused(client: TestClient, method: str, path: str, place: str) -> None:
    for name in NAMES:
        query = {"run_id": "any"} if path.endswith(".json") else None
        changed = path.replace(place, name, 1)
        answer = client.request(method, changed, json=get_body(path), headers=ORIGIN, params=query)
        assert is_refused_in_words(answer), (changed, answer.status_code, answer.text)


@pytest.mark.parametrize(("method", "path"), [call for call in OF_A_DAG if not call[1].endswith("/board")])
@pytest.mark.parametrize("project", ["secret-project", MARKUP, "a" * 3000, "\0", ""])
def test_project_of_another_dag_is_not_found(client: TestClient, method: str, path: str, project: str) -> None:
    query = {"project": project, "run_id": "any"}
    answer = client.request(method, path, json=get_body(path), headers=ORIGIN, params=query)
    assert is_refused_in_words(answer)


@pytest.mark.parametrize("path", [path for method, path in OF_A_DAG if method == "POST"])
def test_fields_of_other_shapes_are_refused(client: TestClient, path: str) -> None:
    for key in get_body(path):
        for shape in SHAPES:
            answer = client.post(path, json={**get_body(path), key: shape}, headers=ORIGIN)
            assert answer.status_code == 422, (key, shape, answer.text)
            assert answer.json()["detail"].startswith(f"{key}: ")


@pytest.mark.parametrize(("method", "path"), OF_A_DAG)
def test_nothing_is_answered_when_rights_cannot_be_asked(
    client: TestClient, rights: Rights, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    def fail() -> Rights:
        raise ConnectionError("the auth manager is away")

    monkeypatch.setattr(access, "get_auth_manager", fail)
    quiet = TestClient(client.app, raise_server_exceptions=False)
    answer = quiet.request(method, path, json=get_body(path), headers=ORIGIN)
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")


def test_what_people_write_is_not_markup_in_the_file(client: TestClient) -> None:
    period = "/api/dags/fx-close/periods/2026-01"
    body = {"status": "closed", "reason": f"{MARKUP}<img src=x onerror=alert(1)>"}
    assert client.post(f"{period}/status", json=body, headers=ORIGIN).status_code == 200
    page = client.get(f"{period}/evidence.html")
    assert "&lt;script&gt;" in page.text
    assert not any(tag in page.text for tag in ("<script", "<img"))
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert client.get(period).headers["content-type"] == "application/json"


@pytest.mark.parametrize("period", ["0001-01", "9999-12"])
def test_first_and_last_month_of_all_have_evidence(client: TestClient, period: str) -> None:
    assert client.get(f"/api/dags/fx-close/periods/{period}").json()["state"] == "missing"

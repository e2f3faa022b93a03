"""The matrix: all that runs is on it, or listed beside it with a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from airflow_provider_runtime.board import projects
from airflow_provider_runtime.board.dags import ProjectDag
from tests.airflow.board.conftest import ORIGIN, Rights

pytestmark = pytest.mark.airflow


def show(client: TestClient, **query: str) -> Any:
    return client.get("/api/board", params=query).json()


def run_by(monkeypatch: pytest.MonkeyPatch, rights: Rights, *dags: ProjectDag) -> None:
    rights.readable = {dag.dag_id for dag in dags}
    monkeypatch.setattr(projects, "list_project_dags", lambda ids: [dag for dag in dags if dag.dag_id in ids])


def make_dag(catalog: Path, project: str, dag_id: str | None = None) -> ProjectDag:
    return ProjectDag(dag_id or project, project, str(catalog), "runtime_default", (), None, None)


def test_missing_catalog_is_listed_beside_the_matrix(
    client: TestClient, rights: Rights, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_by(monkeypatch, rights, make_dag(home / "catalog", "fx-close"), make_dag(home / "elsewhere", "fx-open"))
    shown = show(client)
    assert [project["project"] for project in shown["projects"]] == ["fx-close"]
    (entry,) = shown["unreadable"]
    assert (entry["dag_id"], entry["project"]) == ("fx-open", "fx-open")
    assert "is not a folder on the API server" in entry["reason"]
    assert client.get("/api/dags/fx-open/periods/2026-01").json()["detail"] == entry["reason"]


def test_mistake_in_one_project_hides_no_other(client: TestClient, rights: Rights, home: Path) -> None:
    file = home / "catalog" / "fx_close" / "fx_close.yaml"
    file.write_text(file.read_text().replace("actual_usd - budget_usd", "actual_usd - no_such_column"))
    shown = show(client)
    assert [project["project"] for project in shown["projects"]] == ["fx-close"]
    (entry,) = shown["unreadable"]
    assert entry["project"] == "budget-review"
    assert "no_such_column" in entry["reason"]


def test_coarser_periods_span_the_columns_of_their_parts(
    client: TestClient, rights: Rights, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = home / "catalog"
    run_by(monkeypatch, rights, make_dag(catalog, "fx-close"), make_dag(catalog, "quarterly-close"))
    shown = show(client, year="2026")
    assert shown["shown"]["level"] == "all"
    assert {"calendar": "gregorian", "level": "quarter"} in shown["choices"]["calendars"]
    assert [period["period"] for period in shown["periods"]][:3] == ["2026-01", "2026-02", "2026-03"]
    assert shown["spans"]["quarter"][0]["end_date"] == shown["periods"][2]["end_date"]
    assert "2026-Q1" in shown["projects"][1]["cells"]
    quarters = show(client, calendar="gregorian", level="quarter")
    assert [project["project"] for project in quarters["projects"]] == ["quarterly-close"]
    assert quarters["periods"][0]["period"].endswith(("Q1", "Q2", "Q3", "Q4"))


def test_periods_after_the_end_of_the_dag_are_not_due(
    client: TestClient, rights: Rights, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = replace(make_dag(home / "catalog", "fx-close"), end_date=date(2026, 3, 31))
    run_by(monkeypatch, rights, ended)
    (project,) = show(client, year="2026")["projects"]
    assert sorted(project["cells"]) == ["2026-01", "2026-02", "2026-03"]


def test_dag_that_is_switched_off_is_reported(client: TestClient, rights: Rights) -> None:
    rights.paused.add("fx-close")
    assert {project["dag_id"]: project["is_paused"] for project in show(client)["projects"]} == {
        "budget-review": False,
        "fx-close": True,
    }
    assert client.get("/api/dags/fx-close/periods/2026-01").json()["is_paused"] is True
    assert client.get("/api/dags/budget-review/periods/2026-01").json()["is_paused"] is False


def test_two_projects_of_one_dag_are_two_rows(
    client: TestClient, rights: Rights, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = home / "catalog"
    run_by(monkeypatch, rights, make_dag(catalog, "fx-close", "both"), make_dag(catalog, "budget-review", "both"))
    assert [project["project"] for project in show(client)["projects"]] == ["budget-review", "fx-close"]
    asked = client.get("/api/dags/both/periods/2026-01", params={"project": "budget-review"}).json()
    assert asked["project"] == "budget-review"
    assert client.get("/api/dags/both/periods/2026-01", params={"project": "valuation"}).status_code == 404


def test_closed_period_is_seen_at_once(client: TestClient) -> None:
    before = {period["period"]: period["status"] for period in show(client, year="2026")["periods"]}
    body = {"status": "closed", "reason": "books are done"}
    client.post("/api/dags/fx-close/periods/2026-01/status", json=body, headers=ORIGIN)
    after = {period["period"]: period for period in show(client, year="2026")["periods"]}
    assert before["2026-01"] == "open"
    assert [after["2026-01"][key] for key in ("status", "who", "reason")] == ["closed", "ann", "books are done"]


def test_what_depends_on_a_period_names_only_projects_that_may_be_seen(client: TestClient, rights: Rights) -> None:
    path = "/api/dags/fx-close/periods/2026-01"
    assert {entry["project"] for entry in client.get(path).json()["downstream"]} == {"budget-review"}
    rights.readable = {"fx-close"}
    assert client.get(path).json()["downstream"] == []
    assert "budget-review" not in client.get(f"{path}/evidence.html").text


@pytest.mark.parametrize("query", [{"year": "never"}, {"calendar": "mars", "level": "sol"}, {"tag": "nothing"}])
def test_filter_that_fits_nothing_is_an_answer(client: TestClient, query: dict[str, str]) -> None:
    assert client.get("/api/board", params=query).status_code == 200

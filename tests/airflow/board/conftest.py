"""The board's app for one user, whose rights a test sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from airflow.api_fastapi.core_api.security import get_user
from fastapi.testclient import TestClient

from airflow_provider_runtime.board import access, evidence, matrix, projects
from airflow_provider_runtime.board.app import make_app
from airflow_provider_runtime.board.dags import ProjectDag
from airflow_provider_runtime.core.model.period import GREGORIAN

ORIGIN = {"Origin": "http://testserver"}
DAGS = ("fx-close", "budget-review", "secret-project")


@dataclass
class Rights:
    """An auth manager that knows what one user may do."""

    readable: set[str] = field(default_factory=lambda: {"fx-close", "budget-review"})
    editable: set[str] = field(default_factory=lambda: {"fx-close", "budget-review"})
    paused: set[str] = field(default_factory=set)

    def get_authorized_dag_ids(self, *, user: Any, method: str) -> set[str]:
        return self.readable if method == "GET" else self.editable

    def is_authorized_dag(self, *, method: str, access_entity: Any, details: Any, user: Any) -> bool:
        return details.id in (self.readable if method == "GET" else self.editable)


@dataclass
class User:
    name: str = "ann"

    def get_name(self) -> str:
        return self.name

    def get_id(self) -> str:
        return self.name


@pytest.fixture
def rights(home: Path, monkeypatch: pytest.MonkeyPatch) -> Rights:
    made = Rights()
    dags = [
        ProjectDag(name, name, str(home / "catalog"), "runtime_default", ("finance",), GREGORIAN, "month")
        for name in DAGS
    ]
    monkeypatch.setattr(access, "get_auth_manager", lambda: made)
    for module in (evidence, matrix):
        monkeypatch.setattr(module, "list_paused", made.paused.intersection)
        monkeypatch.setattr(module, "list_partitioned", set)
    monkeypatch.setattr(projects, "list_project_dags", lambda ids: [dag for dag in dags if dag.dag_id in ids])
    return made


@pytest.fixture
def stranger() -> TestClient:
    return TestClient(make_app())


@pytest.fixture
def user() -> User:
    return User()


@pytest.fixture
def client(rights: Rights, user: User) -> TestClient:
    app = make_app()
    app.dependency_overrides[get_user] = lambda: user
    return TestClient(app)

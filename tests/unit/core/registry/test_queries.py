"""Lists of the registry are found through indexes: a history of years must not make them slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.registry.sql import SqlRegistry, open_registry

QUERIES: dict[str, Callable[[Registry], object]] = {
    "latest runs": lambda registry: registry.list_runs(limit=20),
    "runs of a project": lambda registry: registry.list_runs(project="fx"),
    "runs of a period": lambda registry: registry.list_runs(project="fx", period="2026-01"),
    "last runs": lambda registry: registry.list_last_runs(reports=False),
    "publications of a project": lambda registry: registry.list_publications("fx"),
    "publications of a period": lambda registry: registry.list_publications("fx", "2026-01"),
    "run by id": lambda registry: registry.find_run("run-a"),
    "whether a period is published": lambda registry: registry.is_published("p", "2026-01"),
    "permissions": lambda registry: registry.list_overrides("p", "2026-01"),
    "decisions": lambda registry: registry.list_approvals("run-a"),
    "version of a dataset": lambda registry: registry.find_version("DS"),
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> SqlRegistry:
    return open_registry(f"sqlite:///{tmp_path_factory.mktemp('registry')}/registry.db")


@pytest.mark.parametrize("name", QUERIES)
def test_query_reads_no_table_from_end_to_end(name: str, registry: SqlRegistry) -> None:
    plans: list[str] = []

    def explain(connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            found = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[3] for row in found.fetchall())

    event.listen(registry._engine, "before_cursor_execute", explain)
    try:
        QUERIES[name](registry)
    finally:
        event.remove(registry._engine, "before_cursor_execute", explain)
    assert plans
    assert [plan for plan in plans if plan.startswith("SCAN runtime_") and " INDEX " not in plan] == []

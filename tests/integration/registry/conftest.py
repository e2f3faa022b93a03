from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_runtime.core.registry.sql import SqlRegistry, open_registry
from tests.integration.postgres import PostgresServer


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    return postgres_server.make_database()


@pytest.fixture
def registry(postgres_url: str) -> Iterator[SqlRegistry]:
    opened = open_registry(postgres_url)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/folder/registry.db"
    return str(request.getfixturevalue("postgres_url"))

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.integration.postgres import JDBC_DRIVER, PostgresServer


@dataclass(frozen=True)
class Warehouse:
    """A database of one test, as the job sees it and as the test looks into it."""

    jdbc_url: str
    connection: psycopg.Connection[Any]

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values or None).fetchall()  # type: ignore[arg-type]


@pytest.fixture
def warehouse(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Warehouse]:
    if not JDBC_DRIVER.is_file():
        pytest.skip(f"no PostgreSQL JDBC driver at {JDBC_DRIVER} (package libpostgresql-jdbc-java)")
    name = postgres_server.make_database().rsplit("/", 1)[1]
    place = {"host": "127.0.0.1", "port": postgres_server.port, "dbname": name}
    monkeypatch.setenv("WAREHOUSE", '{"user": "postgres", "password": "canary-4711"}')
    with psycopg.connect(user="postgres", autocommit=True, **place) as connection:
        yield Warehouse(f"jdbc:postgresql://127.0.0.1:{postgres_server.port}/{name}", connection)

"""Transient errors of the registry's database are waited out, others are reported at once."""

from __future__ import annotations

import psycopg
import pytest

from airflow_provider_runtime.core.errors import InfrastructureError
from airflow_provider_runtime.core.registry.sql import open_registry

FATAL = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: FATAL:  '


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of errors that connecting fails with, the first of them first; what is not tried again stays."""
    texts: list[str] = []

    def connect(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(FATAL + texts.pop(0))

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr(psycopg.Connection, "connect", connect)
    monkeypatch.setattr("airflow_provider_runtime.core.registry.sql.time.sleep", lambda _: None)
    return texts


@pytest.mark.parametrize(
    "text",
    [
        "the database system is starting up",
        "the database system is shutting down",
        "the database system is in recovery mode",
        "the database system is not yet accepting connections\nDETAIL:  Consistent recovery state not yet reached.",
    ],
)
def test_server_that_starts_or_stops_is_asked_again(tried: list[str], text: str) -> None:
    tried += [text, text, "role nobody does not exist"]
    with pytest.raises(InfrastructureError, match="role nobody does not exist"):
        open_registry("postgresql://nobody@127.0.0.1/runtime", patience_seconds=30.0)
    assert tried == []


@pytest.mark.parametrize(
    "text",
    [
        "sorry, too many clients already",
        'too many connections for role "runtime"',
        "remaining connection slots are reserved for roles with the SUPERUSER attribute",
    ],
)
def test_server_that_is_full_is_asked_again_for_longer_than_one_that_is_away(
    tried: list[str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_runtime.core.registry.sql.FIRST_PATIENCE_SECONDS", 0.0)
    tried += [text, text, "role nobody does not exist"]
    with pytest.raises(InfrastructureError, match="role nobody does not exist"):
        open_registry("postgresql://nobody@127.0.0.1/runtime", patience_seconds=30.0)
    assert tried == []


def test_server_that_refuses_a_user_is_not_asked_again(tried: list[str]) -> None:
    tried += ["password authentication failed", "never asked"]
    with pytest.raises(InfrastructureError, match="password authentication failed"):
        open_registry("postgresql://nobody@127.0.0.1/runtime", patience_seconds=30.0)
    assert tried == ["never asked"]

"""Disturbances of an attempt: a database that is down, a lock, another run, a clock."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from airflow_provider_runtime.core.errors import InfrastructureError, LeaseError, RuntimeProviderError
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.registry.sql_store import SqlStore
from airflow_provider_runtime.core.runs.keep_alive import keep_alive
from tests.integration.postgres import start_postgres
from tests.unit.core.registry.registry_cases import begin, make_start, make_write, read

pytestmark = pytest.mark.integration


def test_database_restarted_in_the_middle_of_a_run_costs_nothing() -> None:
    lost: list[RuntimeProviderError] = []
    with start_postgres() as server:
        url = server.make_database()
        registry = open_registry(url, patience_seconds=1.0)
        attempt = begin(registry, make_start("a"))
        with keep_alive(lambda: registry.heartbeat(attempt), lost.append, interval_seconds=0.1):
            server.stop()
            with pytest.raises(InfrastructureError, match="INFRA_001") as caught:
                registry.finish_attempt(attempt, [make_write()], {})
            assert caught.value.retryable
            server.start()
        (done,) = registry.finish_attempt(attempt, [make_write()], {})
        assert (done.version, lost) == (1, [])
        assert read(open_registry(url)) == [("2026-01", "file:/s/1")]


def test_database_that_comes_back_in_time_is_waited_for() -> None:
    with start_postgres() as server:
        registry = open_registry(server.make_database(), patience_seconds=30.0)
        attempt = begin(registry, make_start("a"))
        server.stop()
        back = threading.Timer(0.5, server.start)
        back.start()
        (done,) = registry.finish_attempt(attempt, [make_write()], {})
        back.join()
        assert done.version == 1


def test_lease_that_expires_while_its_holder_works_is_lost_only_to_another_run(url: str) -> None:
    registry = open_registry(url)
    slow = begin(registry, make_start("a"), lease_seconds=0.05)
    time.sleep(0.1)
    registry.heartbeat(slow)
    time.sleep(0.1)
    other = begin(registry, make_start("b"))
    for use in (lambda: registry.heartbeat(slow), lambda: registry.finish_attempt(slow, [make_write()], {})):
        with pytest.raises(LeaseError, match="RUN_002"):
            use()
    assert registry.finish_attempt(other, [make_write()], {})[0].version == 1


@pytest.mark.parametrize("locked", ["2026-01", "2026-Q1", "2026"])
def test_lock_during_a_run_is_reported_to_its_holder_once(url: str, locked: str) -> None:
    registry = open_registry(url)
    attempt = begin(registry, make_start("a", enclosing_periods=("2026-Q1", "2026")))
    told = threading.Event()
    lost: list[RuntimeProviderError] = []

    def stop(error: RuntimeProviderError) -> None:
        lost.append(error)
        told.set()

    with keep_alive(lambda: registry.heartbeat(attempt), stop, interval_seconds=0.02):
        open_registry(url).set_period_status("gregorian", locked, "locked", who="ann", reason="audit")
        assert told.wait(10)
        time.sleep(0.1)
    assert [error.code for error in lost] == ["PERIOD_002"]
    assert registry.list_datasets() == []


def test_registry_keeps_one_connection_for_a_run(postgres_url: str) -> None:
    registry = open_registry(postgres_url)
    made: list[object] = []
    event.listen(registry._engine, "connect", lambda connection, _: made.append(connection))
    attempt = begin(registry, make_start("a"))
    with keep_alive(lambda: registry.heartbeat(attempt), lambda _: None, interval_seconds=0.01):
        for _ in range(20):
            registry.list_runs()
    registry.finish_attempt(attempt, [make_write()], {})
    assert made == []
    registry.close()


def test_writer_frozen_inside_a_transaction_holds_up_the_others_only_briefly(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_runtime.core.registry.sql.LONGEST_PAUSE_SECONDS", 1)
    inside, goes_on = threading.Event(), threading.Event()

    def stand_still(_: object) -> None:
        inside.set()
        assert goes_on.wait(60)

    frozen = threading.Thread(target=lambda: open_registry(postgres_url)._write(stand_still))
    registry = open_registry(postgres_url)
    frozen.start()
    assert inside.wait(10)
    attempt = begin(registry, make_start("a"))
    assert not goes_on.is_set()
    assert registry.finish_attempt(attempt, [make_write()], {})[0].version == 1
    goes_on.set()
    frozen.join(60)
    assert not frozen.is_alive()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_who_waited_for_the_lock_of_a_year_sees_it_whatever_the_default_isolation(
    postgres_url: str, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")  # type: ignore[arg-type]
    registry = open_registry(postgres_url)
    attempt = begin(registry, make_start("a", enclosing_periods=("2026-Q1", "2026")))
    written = threading.Event()
    put_period = SqlStore.put_period

    def put_slowly(self: SqlStore, *arguments: Any) -> None:
        put_period(self, *arguments)
        written.set()
        time.sleep(1.0)

    monkeypatch.setattr(SqlStore, "put_period", put_slowly)
    locking = threading.Thread(
        target=open_registry(postgres_url).set_period_status,
        args=("gregorian", "2026", "locked"),
        kwargs={"who": "ann", "reason": "audit"},
    )
    locking.start()
    assert written.wait(10)
    with pytest.raises(RuntimeProviderError, match="PERIOD_002"):
        registry.finish_attempt(attempt, [make_write()], {})
    locking.join()
    assert registry.list_datasets() == []

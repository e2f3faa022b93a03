from __future__ import annotations

import multiprocessing
from multiprocessing.queues import Queue

import pytest
from sqlalchemy import create_engine, inspect, text

from airflow_provider_runtime.core.errors import InfrastructureError, LeaseError
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.registry.tables import VERSION_TABLE, metadata
from tests.unit.core.registry.registry_cases import make_start, make_write, read

pytestmark = pytest.mark.integration
PROCESSES = 12


def _register(url: str, number: int, answers: Queue[str]) -> None:
    try:
        registry = open_registry(url)
        period = f"2026-{number:02d}"
        attempt = registry.begin_attempt(make_start(f"m{number:02d}", period=period), holder="elsewhere/1/1")
        registry.heartbeat(attempt)
        (done,) = registry.finish_attempt(attempt, [make_write(f"file:/s/{number}", period=period)], {})
        answers.put(f"version {done.version}")
    except Exception as error:
        answers.put(f"failed: {error}")


def _compete(url: str, number: int, answers: Queue[str]) -> None:
    try:
        open_registry(url).begin_attempt(make_start(f"m{number:02d}"), holder="elsewhere/1/1")
        answers.put("won")
    except LeaseError as error:
        answers.put(error.code)


def _run_processes(target: object, url: str) -> list[str]:
    # Neither copies of this process, with its threads, nor processes that each import everything again.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["airflow_provider_runtime.core.registry.sql", "psycopg", __name__])
    answers: Queue[str] = context.Queue()
    workers = [
        context.Process(target=target, args=(url, number, answers))  # type: ignore[arg-type]
        for number in range(1, PROCESSES + 1)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=90) for _ in workers]
    for worker in workers:
        worker.join()
    return sorted(found)


def test_twelve_processes_on_a_fresh_database_register_every_period(url: str) -> None:
    assert _run_processes(_register, url) == sorted(f"version {number}" for number in range(1, PROCESSES + 1))
    registry = open_registry(url)
    assert read(registry) == [(f"2026-{number:02d}", f"file:/s/{number}") for number in range(1, PROCESSES + 1)]
    assert [len(read(registry, version)) for version in range(1, PROCESSES + 1)] == list(range(1, PROCESSES + 1))


def test_twelve_runs_of_one_period_let_exactly_one_begin(url: str) -> None:
    assert _run_processes(_compete, url) == ["RUN_001"] * (PROCESSES - 1) + ["won"]


def test_migrated_schema_is_the_one_of_the_tables(url: str) -> None:
    open_registry(url)
    engine = create_engine(url)
    found = inspect(engine)
    assert set(found.get_table_names()) == {*metadata.tables, VERSION_TABLE}
    for name, table in metadata.tables.items():
        columns = {column["name"]: column["nullable"] for column in found.get_columns(name)}
        assert columns == {column.name: bool(column.nullable) for column in table.columns}, name
        assert {index["name"] for index in found.get_indexes(name) if not index.get("duplicates_constraint")} >= {
            index.name for index in table.indexes
        }
    engine.dispose()


def test_newer_schema_is_a_clear_error(url: str) -> None:
    open_registry(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(InfrastructureError, match="newer than this version knows"):
        open_registry(url)


def test_current_registry_opens_without_a_migration(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_registry(url)
    monkeypatch.setattr("alembic.command.upgrade", lambda *_: pytest.fail("it was migrated again"))
    open_registry(url)


def test_database_that_is_down_is_a_coded_error_without_the_password() -> None:
    url = "postgresql://carol:hunter2@127.0.0.1:1/books?application_name=x"
    with pytest.raises(InfrastructureError) as caught:
        open_registry(url, patience_seconds=0.1)
    assert caught.value.code == "INFRA_001"
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1/books" in str(caught.value)

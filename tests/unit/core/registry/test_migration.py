from __future__ import annotations

import json
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from airflow_provider_runtime.core.registry import migration
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.registry.tables import REVISIONS, metadata
from tests.unit.core.registry.registry_cases import begin, make_start, make_write

OLD_RUNS = """
    INSERT INTO runtime_runs (snapshot_sha256, run_id, project_id, project_name, project_version, calendar, period,
        level, status, attempt, token, started_at, published_at, report)
    VALUES (
        'aaaaaaaa', 'run-a', 'p', 'fx', 1, 'gregorian', '2026-01', 'month', 'succeeded', 1, 5, 1000, 2000, '{"x":1}'
        ),
        ('bbbbbbbb', 'run-b', 'p', 'fx', 1, 'gregorian', '2026-01', 'month', 'succeeded', 1, 6, 3000, 4000, '{"x":2}'),
        ('cccccccc', 'run-c', 'p', 'fx', 1, 'gregorian', '2026-01', 'month', 'failed', 1, 7, 5000, NULL, NULL)
"""

PUBLISHED = text(
    "INSERT INTO runtime_publications (project_id, period, number, project_name, run_id, snapshot_sha256, token,"
    " published_at, report) VALUES ('p', '2026-01', 1, 'fx', 'run-b', 'bbbbbbbb', 6, 4000, :report)"
)


def make_registry(path: Path, revision: str) -> str:
    """Return the URL of a registry whose schema is that of an earlier version."""
    url = f"sqlite:///{path}"
    config = Config()
    config.set_main_option("script_location", str(Path(migration.__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.exec_driver_sql(OLD_RUNS)
    engine.dispose()
    return url


def test_registry_of_the_first_schema_goes_on_with_its_history(tmp_path: Path) -> None:
    registry = open_registry(make_registry(tmp_path / "registry.db", "0001"))
    assert [(item.number, item.run_id, item.report) for item in registry.list_publications("p", "2026-01")] == [
        (2, "run-b", {"x": 2}),
        (1, "run-a", {"x": 1}),
    ]
    run = registry.find_run("run-a")
    assert run is not None
    assert (run.who, run.staged_until) == ("", None)
    registry.finish_attempt(begin(registry, make_start("d")), [make_write()], {})
    assert registry.list_publications("p", "2026-01")[0].number == 3


def test_registry_of_an_earlier_schema_knows_what_its_publications_read(tmp_path: Path) -> None:
    url = make_registry(tmp_path / "registry.db", "0005")
    source = {"dataset_id": "d", "table": "t", "version": 2, "fingerprint": "sha256:1"}
    report = json.dumps({"sources": [{**source, "files": 1}]})
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(PUBLISHED, {"report": report})
    engine.dispose()
    registry = open_registry(url)
    runs = {run.run_id: run.sources for run in registry.list_runs()}
    assert runs == {"run-a": (), "run-b": (source,), "run-c": ()}


def test_registry_of_an_earlier_schema_counts_the_checks_of_its_runs(tmp_path: Path) -> None:
    url = make_registry(tmp_path / "registry.db", "0006")
    report = json.dumps({"checks": [{"status": "passed"}, {"status": "passed"}, {"status": "failed"}]})
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE runtime_runs SET report = :report WHERE run_id = 'run-b'"), {"report": report})
    engine.dispose()
    runs = {run.run_id: run.check_counts for run in open_registry(url).list_runs()}
    assert runs == {"run-a": {}, "run-b": {"passed": 2, "failed": 1}, "run-c": {}}


def test_migrated_schema_is_the_one_of_the_tables(tmp_path: Path) -> None:
    url = make_registry(tmp_path / "registry.db", "0001")
    open_registry(url).close()
    with create_engine(url).connect() as connection:
        for table in metadata.sorted_tables:
            found = {row[1] for row in connection.execute(text(f"PRAGMA table_info({table.name})"))}
            assert found == {column.name for column in table.columns}, table.name
        revision = connection.execute(text("SELECT version_num FROM runtime_schema_version")).scalar()
    assert revision == REVISIONS[-1]

"""Runs that die, or are stopped for a while, at a named step of publishing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.core.errors import LeaseError, PeriodError, PlanError, RuntimeProviderError
from airflow_provider_runtime.core.runs.execution import Execution
from tests.integration.crashes.books import JANUARY, REGISTERED, Books, sum_january
from tests.integration.crashes.kills import end_group
from tests.integration.crashes.test_kills import CONF, Rows, check_books, make_books
from tests.integration.postgres import JDBC_DRIVER, PostgresServer

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.skipif(not JDBC_DRIVER.is_file(), reason=f"no PostgreSQL JDBC driver at {JDBC_DRIVER}"),
]

PROGRAM = (sys.executable, "-m", "tests.integration.crashes.halted_run")
LONG = pytest.mark.chaos
DEATHS = [
    pytest.param("after", "begin", marks=LONG),
    pytest.param("before", "seal", marks=LONG),
    pytest.param("after", "slice", marks=LONG),
    pytest.param("after", "swap", marks=LONG),
    pytest.param("before", "commit", marks=LONG),
    ("after", "table"),
    pytest.param("after", "clean", marks=LONG),
    pytest.param("before", "register", marks=LONG),
    pytest.param("after", "register", marks=LONG),
]


@pytest.fixture
def books(tmp_path: Path, postgres_server: PostgresServer, spark: SparkSession) -> Iterator[Books]:
    made = make_books(tmp_path, postgres_server, "sqlite", spark)
    yield made
    made.registry.close()


def start_halted(books: Books, *chosen: str) -> subprocess.Popen[str]:
    """Start a run of January's first state, and wait until it has halted."""
    books.write_ledger(JANUARY, 1)
    conf = {**CONF, "spark.sql.shuffle.partitions": "3"}
    return wait_until_halted(books.start([*chosen, *books.command(JANUARY, 1, "local[1]", conf)], PROGRAM))


def wait_until_halted(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("halted "):
            return process
    raise AssertionError("".join(said))


def let_go_on(process: subprocess.Popen[str]) -> str:
    os.kill(process.pid, signal.SIGCONT)
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said, said
    assert process.returncode == 1, said
    return said


@pytest.mark.parametrize(("when", "step"), DEATHS)
def test_run_killed_at_a_step_is_completed_by_the_retry(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows], when: str, step: str
) -> None:
    process = start_halted(books, "SIGKILL", when, step)
    process.communicate(timeout=60)
    end_group(process)
    assert process.returncode == -signal.SIGKILL
    books.run(JANUARY, 1, spark)
    check_books(books, undisturbed[1], 1, [])


@pytest.mark.parametrize(
    ("when", "step"),
    [
        ("after", "table"),
        pytest.param("after", "slice", marks=LONG),
        pytest.param("after", "swap", marks=LONG),
        pytest.param("before", "commit", marks=LONG),
        pytest.param("before", "register", marks=LONG),
    ],
)
def test_publication_of_a_staged_run_that_is_killed_is_completed_by_the_next(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows], when: str, step: str
) -> None:
    books.write_ledger(JANUARY, 1)
    snapshot, uri = books.resolve(JANUARY, 1)
    runner = LocalRunner(books.registry, lambda: spark, lambda line: None, stage_only=True)
    with patch.dict(os.environ, books.make_environment()):
        assert runner.execute(snapshot, uri).report["status"] == "staged"
    settings = [argument for key, value in CONF.items() for argument in ("--conf", f"{key}={value}")]
    publish = ["publish", snapshot.run_id, "--registry", books.registry_url, "--master", "local[1]", *settings]
    process = wait_until_halted(books.start(["SIGKILL", when, step, *publish], PROGRAM))
    process.communicate(timeout=60)
    end_group(process)
    # Nobody knows how far it came: what is half published is completed, not discarded.
    with pytest.raises(PlanError, match="was begun and did not end"):
        books.registry.discard_staged(snapshot.run_id, who="ben", reason="too late")
    with patch.dict(os.environ, books.make_environment()):
        assert runner.publish(snapshot, uri).succeeded
    check_books(books, undisturbed[1], 1, [])


def stage(books: Books, spark: SparkSession, keep_seconds: float = 60.0) -> LocalRunner:
    """Stage January's first state, and return what publishes or discards it."""
    books.write_ledger(JANUARY, 1)
    runner = LocalRunner(books.registry, lambda: spark, lambda line: None, stage_only=True, keep_seconds=keep_seconds)
    with patch.dict(os.environ, books.make_environment()):
        assert runner.execute(*books.resolve(JANUARY, 1)).report["status"] == "staged"
    return runner


def test_discarded_rows_leave_nothing_behind_in_files_and_database(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows]
) -> None:
    runner = stage(books, spark)
    snapshot, uri = books.resolve(JANUARY, 1)
    record = books.registry.find_run(snapshot.run_id)
    assert record is not None
    assert len(list_stage_tables(books)) == 1
    books.registry.discard_staged(snapshot.run_id, who="ben", reason="wrong rates")
    with patch.dict(os.environ, books.make_environment()):
        runner.remove_staged(snapshot, record)
        with pytest.raises(LeaseError, match=r"RUN_002.*wrong rates"):
            runner.publish(snapshot, uri)
    assert books.read_all() == undisturbed[2]
    assert list_stage_tables(books) == []
    hidden = [path for path in (books.folder / "lake").rglob("*.parquet") if ".runtime" in str(path)]
    assert [path for path in hidden if "/staged" in str(path)] == []


def test_rows_that_expired_are_refused_and_swept_by_the_next_run(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows]
) -> None:
    runner = stage(books, spark, keep_seconds=-1.0)
    with patch.dict(os.environ, books.make_environment()), pytest.raises(PlanError, match="was kept until"):
        runner.publish(*books.resolve(JANUARY, 1))
    assert books.read_all() == undisturbed[2]
    books.run(JANUARY, 1, spark)
    check_books(books, undisturbed[1], 1, [])


def test_staged_run_that_was_overtaken_publishes_nothing(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows]
) -> None:
    runner = stage(books, spark)
    books.run(JANUARY, 2, spark)
    with (
        patch.dict(os.environ, books.make_environment()),
        pytest.raises(RuntimeProviderError, match=r"PLAN_001|RUN_002"),
    ):
        runner.publish(*books.resolve(JANUARY, 1))
    assert books.read_all() == undisturbed[2]
    assert list_stage_tables(books) == []


def test_staged_run_is_published_once_however_often_it_is_asked_for(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows]
) -> None:
    runner = stage(books, spark)
    for _ in range(2):
        with patch.dict(os.environ, books.make_environment()):
            assert runner.publish(*books.resolve(JANUARY, 1)).succeeded
    check_books(books, undisturbed[1], 1, [])
    assert len(books.registry.list_publications("fx", JANUARY)) == 2


def list_stage_tables(books: Books) -> list[str]:
    with books.connect() as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'rt_stage%'").fetchall()
    return [str(name) for (name,) in found]


@pytest.mark.parametrize("step", ["swap", pytest.param("commit", marks=LONG)])
def test_run_that_was_stopped_and_replaced_publishes_nothing_when_it_goes_on(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows], step: str
) -> None:
    """The retry of the same snapshot meets other data: what the old attempt still writes would be seen."""
    process = start_halted(books, "SIGSTOP", "before", step)
    try:
        _, uri = books.resolve(JANUARY, 1)
        books.snapshots[f"{JANUARY}x3"] = books.snapshots[f"{JANUARY}x1"]
        books.run(JANUARY, 3, spark)
        after = books.read_all()
        assert sum_january(after["lake"]) not in {sum_january(rows["lake"]) for rows in undisturbed.values()}
        said = let_go_on(process)
    finally:
        end_group(process)
    assert "RUN_002" in said or "OUTPUT_003" in said, said
    assert uri
    check_books(books, after, 1, [said])


def test_period_locked_while_its_job_runs_is_not_published(
    books: Books, spark: SparkSession, undisturbed: dict[int, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = books.read_all()

    check = Execution.check

    def lock(execution: Execution) -> None:
        books.registry.set_period_status("gregorian", JANUARY, "locked", who="auditor", reason="audit is done")
        check(execution)

    monkeypatch.setattr(Execution, "check", lock)
    with pytest.raises((AssertionError, PeriodError), match="PERIOD_002"):
        books.run(JANUARY, 1, spark)
    assert books.read_all() == before == undisturbed[2]
    assert len(books.registry.list_versions(REGISTERED)) == 2

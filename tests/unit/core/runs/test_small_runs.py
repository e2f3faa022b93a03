"""Which runs read little for certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_provider_runtime.core.runs.small_runs import SMALL_BYTES, is_small_run
from spark_jobs.contract.snapshot import Snapshot
from tests.spark_jobs.plan_builders import files, start, table

COLUMNS = [("id", "bigint")]


def make_snapshot(*locations: dict[str, Any]) -> Snapshot:
    """A project that reads the locations as its input, and nothing else."""
    return start(COLUMNS, *locations).output("id").snapshot()


def write(path: Path, size: int) -> dict[str, Any]:
    path.write_bytes(b"x" * size)
    return files(path)


def test_all_files_of_all_tables_count(tmp_path: Path) -> None:
    half = SMALL_BYTES // 2
    first, second = write(tmp_path / "a.parquet", half), write(tmp_path / "b.parquet", half)
    assert is_small_run(make_snapshot(first, second))
    assert not is_small_run(make_snapshot(first, second, write(tmp_path / "c.parquet", 1)))
    assert not is_small_run(make_snapshot(files(tmp_path)))


def test_runs_that_follow_in_the_same_spark_count(tmp_path: Path) -> None:
    snapshot = make_snapshot(write(tmp_path / "a.parquet", SMALL_BYTES // 12))
    assert is_small_run(snapshot, 12)
    assert not is_small_run(snapshot, 13)


def test_nothing_is_known_of_other_machines_and_databases(tmp_path: Path) -> None:
    small = write(tmp_path / "a.parquet", 1)
    assert is_small_run(make_snapshot(small))
    assert not is_small_run(make_snapshot(small, files("s3a://bucket/a.parquet")))
    assert not is_small_run(make_snapshot({"kind": "jdbc", "url": "jdbc:postgresql://db/books", "table": "ledger"}))


def test_joined_tables_count(tmp_path: Path) -> None:
    plan = start(COLUMNS, write(tmp_path / "a.parquet", 1))
    plan.tables["other"] = table(COLUMNS, write(tmp_path / "b.parquet", SMALL_BYTES))
    assert not is_small_run(plan.output("id").snapshot())

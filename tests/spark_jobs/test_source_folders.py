"""Folders whose names hold columns, periods, or characters of globs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.errors import JobError
from tests.spark_jobs.plan_builders import files, run, start
from tests.spark_jobs.test_sources import write


@pytest.mark.parametrize("name", ["run[1]", "run{1,2}", "run*", "run?", "run 1"])
def test_folder_with_glob_characters_means_itself(spark: SparkSession, tmp_path: Path, name: str) -> None:
    for folder, value in (("run1", "neighbour"), ("runs", "neighbour"), (name, "own")):
        spark.range(1).selectExpr(f"'{value}' id").coalesce(1).write.parquet(f"{tmp_path}/{folder}/data")
        write(tmp_path / folder / "csv" / "t.csv", f"id\n{value}\n")
    folder = escape_pattern(f"{tmp_path}/{name}")
    found = {}
    for path, kind in (("data", "parquet"), ("da*", "parquet"), ("csv/*.csv", "csv"), ("csv/t.csv", "csv")):
        plan = start([("id", "string")], files(f"{folder}/{path}", kind)).output("id", "_row_id")
        ((value, found[path]),) = run(spark, plan).rows(10)
        assert value == "own"
    plain = start([("id", "string")], files(tmp_path / "run1/data")).output("_row_id")
    (file,) = (tmp_path / name / "data").glob("part-*.parquet")
    (other,) = (tmp_path / "run1/data").glob("part-*.parquet")
    other.rename(other.with_name(file.name))
    assert run(spark, plain).rows(10) == [(found["data"],)]
    with pytest.raises(JobError) as caught:
        run(spark, start([("id", "string")], files(f"{folder}/none")).output("id"))
    assert caught.value.code == "DATA_001"
    assert f"{name}/none" in caught.value.message


def write_both(folder: Path, kind: str, **columns: str) -> None:
    """One row as a file of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({name: [value] for name, value in columns.items()}), folder / "a.parquet"
        )
    elif kind == "orc":
        pyarrow.orc.write_table(pyarrow.table({name: [value] for name, value in columns.items()}), folder / "a.orc")
    elif kind == "csv":
        write(folder / "a.csv", f"{','.join(columns)}\n{','.join(columns.values())}\n")
    else:
        write(folder / "a.json", json.dumps(columns) + "\n")


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json"])
def test_column_that_is_in_the_files_and_names_their_folders(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    declared = [("id", "string"), ("v", "string")]
    write_both(tmp_path / "id=ZZ", kind, v="1")
    write_both(tmp_path / "id=Y Y%2F", kind, **({"id": "A"} if kind != "csv" else {}), v="2")
    if kind == "csv":
        write_both(tmp_path / "id=ZZ", kind, id="A", v="1")
        write_both(tmp_path / "id=Y Y%2F", kind, id="A", v="2")
    with pytest.raises(JobError) as caught:
        run(spark, start(declared, files(tmp_path, kind)).output("id", "v"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.column) == ("DATA_002", "id")
    assert "is in the files, and in the names of their folders" in problem.message
    assert problem.hint == "write the files without the column, or give the folders another name"
    # A dataset without the column is not affected, nor is a folder that is read by itself.
    assert run(spark, start([("v", "string")], files(tmp_path, kind)).output("v")).rows(10) == [("1",), ("2",)]
    if kind != "csv":
        assert run(spark, start(declared, files(tmp_path / "id=Y Y%2F", kind)).output("id")).rows(10) == [("A",)]


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json"])
def test_column_that_only_the_folders_name(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    for folder, value in (("period=2026-01", "1"), ("period=2026-02", "2")):
        write_both(tmp_path / folder, kind, v=value)
    plan = start([("v", "string")], files(tmp_path, kind), mode="period", period_column="period").output("v", "_period")
    assert [row[0] for row in run(spark, plan).rows(10)] == ["1"]
    both = start([("v", "string"), ("period", "string")], files(tmp_path, kind)).output("v", "period")
    assert run(spark, both).rows(10) == [("1", "2026-01"), ("2", "2026-02")]


def test_folder_of_another_period_may_hold_what_it_likes(spark: SparkSession, tmp_path: Path) -> None:
    write_both(tmp_path / "period=2026-01", "parquet", v="1")
    write_both(tmp_path / "period=2025-12", "parquet", v="2", period="FY26-P06")
    plan = start([("v", "string")], files(tmp_path), mode="period", period_column="period").output("v")
    assert run(spark, plan).rows(10) == [("1",)]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columns_that_come_and_go_are_null(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    write_both(tmp_path / "period=2026-01", kind, v="1", old="x")
    write_both(tmp_path / "period=2026-02", kind, v="2", new="y")
    plan = start([("v", "string"), ("new", "string"), ("old", "string")], files(tmp_path, kind)).output(
        "v", "new", "old"
    )
    assert run(spark, plan).rows(10) == [("1", None, "x"), ("2", "y", None)]

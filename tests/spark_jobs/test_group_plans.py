"""What Spark does for group functions, as `benchmarks/groups.py` measures them: one shuffle, few sorts, few columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from benchmarks.groups import FUNCTIONS, load_project, write_lines
from spark_jobs.rows.executor import execute
from tests.spark_jobs.test_plans import FolderSinks

pytestmark = pytest.mark.spark
ALL = {name: text.replace("KEY", "unit") for name, text in FUNCTIONS["all"].items()}


def write_plan(spark: SparkSession, folder: Path, *columns: str) -> str:
    """Run the project, and return the plan of its output."""
    write_lines(spark, folder, 20)
    sinks = FolderSinks(folder / "out")
    execute(spark, build_snapshot(load_project(folder, ALL, columns), "groups", "2026-01"), sinks)
    return sinks.plans[0]


def test_all_group_functions_over_one_key_share_one_shuffle_and_four_sorts(spark: SparkSession, tmp_path: Path) -> None:
    plan = write_plan(spark, tmp_path, "unit", *ALL)
    assert plan.count("Exchange hashpartitioning(unit") == plan.count("Exchange ") == 1
    # By key alone, by amount, by day, and by what is left over.
    assert plan.count("Sort [") == 4
    assert plan.count("Window [") == 5


def test_source_columns_that_nobody_reads_do_not_go_through_the_windows(spark: SparkSession, tmp_path: Path) -> None:
    plan = write_plan(spark, tmp_path, "unit", "total", "so_far")
    assert "note_" not in plan
    assert "Join" not in plan

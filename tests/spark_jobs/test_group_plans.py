"""What Spark does for group functions: one shuffle, few sorts, and no column that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.catalog.loader import load_texts
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from spark_jobs.rows.executor import execute
from tests.spark_jobs.test_plans import FolderSinks

pytestmark = pytest.mark.spark
CATALOG = """
datasource: {id: lake, type: parquet, path_prefix: .}
---
resolver: {id: r, version: 1, is_default: true,
           rules: [{name: all, strategy: {type: path, datasource_id: lake, path: lines}}]}
---
dataset:
  id: lines
  name: Lines
  version: 1
  main_table:
    name: lines
    columns:
      - {name: unit, type: string}
      - {name: booked, type: date}
      - {name: amount, type: decimal, precision: 18, scale: 2}
      - {name: weight, type: decimal, precision: 18, scale: 4}
      - {name: wide, type: string}
---
project:
  id: groups
  name: groups
  version: 1
  input_dataset_id: lines
  operations:
    - seq: 10
      name: Groups
      type: update
      arguments:
        assignments:
          - {column: total, expression: TOTAL(amount BY unit)}
          - {column: part, expression: SHARE(amount BY unit)}
          - {column: place, expression: RANK(amount DESC BY unit)}
          - {column: so_far, expression: RUNNING(amount ORDER booked BY unit)}
          - {column: before, expression: PREVIOUS_VALUE(amount ORDER booked BY unit)}
          - {column: allocated, expression: "ALLOCATE(100.00, weight BY unit)"}
    - seq: 20
      name: Write
      type: output
      arguments: {destination: {datasource_id: lake, path: out}, columns: [COLUMNS]}
"""
COMPUTED = "total, part, place, so_far, before, allocated"


def write_plan(spark: SparkSession, folder: Path, columns: str) -> str:
    """Run the project, and return the plan of its output."""
    rows = spark.range(20).selectExpr(
        "concat('U', id % 3) AS unit",
        "date_add(DATE'2026-01-01', CAST(id % 7 AS int)) AS booked",
        "CAST(id AS decimal(18,2)) AS amount",
        "CAST(id + 1 AS decimal(18,4)) AS weight",
        "'w' AS wide",
    )
    rows.write.parquet(str(folder / "lines"))
    sinks = FolderSinks(folder / "out")
    execute(
        spark,
        build_snapshot(load_texts({"c.yaml": CATALOG.replace("COLUMNS", columns)}, folder), "groups", "2026-01"),
        sinks,
    )
    return sinks.plans[0]


def test_all_group_functions_over_one_key_share_one_shuffle_and_four_sorts(spark: SparkSession, tmp_path: Path) -> None:
    plan = write_plan(spark, tmp_path, f"unit, {COMPUTED}")
    assert plan.count("Exchange hashpartitioning(unit") == plan.count("Exchange ") == 1
    # By key alone, by amount, by day, and by what is left over.
    assert plan.count("Sort [") == 4
    assert plan.count("Window [") == 5


def test_source_columns_that_nobody_reads_do_not_go_through_the_windows(spark: SparkSession, tmp_path: Path) -> None:
    plan = write_plan(spark, tmp_path, "unit, total, so_far")
    assert "wide" not in plan
    assert "Join" not in plan

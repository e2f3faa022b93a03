"""What group functions cost beside the same written by hand with PySpark's window functions, taking turns.

    python benchmarks/groups.py [--rows 1e6] [--rounds 3] [--only totals ordered allocate all]

The rows, of fourteen columns, are Parquet; one update computes the functions, one output writes all columns. `even` has
1,000 groups, `skewed` nine rows of ten in one group.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_provider_runtime.core.catalog.loader import LoadResult

PAYLOAD = [f"note_{number}" for number in range(8)]
FUNCTIONS = {
    "totals": {"total": "TOTAL(amount BY KEY)", "part": "SHARE(amount BY KEY)"},
    "ordered": {
        "place": "RANK(amount DESC BY KEY)",
        "so_far": "RUNNING(amount ORDER booked BY KEY)",
        "before": "PREVIOUS_VALUE(amount ORDER booked BY KEY)",
    },
    "allocate": {"allocated": "ALLOCATE(1000000.00, weight BY KEY)"},
}
FUNCTIONS["all"] = {name: text for found in FUNCTIONS.values() for name, text in found.items()}
CATALOG = """
datasource: {{id: lake, type: parquet, path_prefix: {folder}}}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{{name: all, strategy: {{type: path, datasource_id: lake, path: lines}}}}]
---
dataset:
  id: lines
  name: Lines
  version: 1
  main_table:
    name: lines
    columns:
      - {{name: id, type: string}}
      - {{name: unit, type: string}}
      - {{name: hot, type: string}}
      - {{name: booked, type: date}}
      - {{name: amount, type: decimal, precision: 18, scale: 2}}
      - {{name: weight, type: decimal, precision: 18, scale: 4}}
{payload}
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
{assignments}
    - seq: 20
      name: Write
      type: output
      arguments: {{destination: {{datasource_id: lake, path: engine}}, columns: [{columns}]}}
"""


def write_lines(spark: SparkSession, folder: Path, rows: int) -> None:
    """Write the rows that both read."""
    notes = [f"sha2(concat('{name}', id), 256) AS {name}" for name in PAYLOAD]
    columns = [
        "concat('L', id) AS id",
        "concat('U', id % 1000) AS unit",
        "IF(id % 10 < 9, 'hot', concat('U', id % 1000)) AS hot",
        "date_add(DATE'2026-01-01', CAST(id * 7919 % 365 AS int)) AS booked",
        "CAST((id * 104729 % 10000000) / 100 AS decimal(18,2)) AS amount",
        "CAST((id * 15485863 % 1000000 + 1) / 10000 AS decimal(18,4)) AS weight",
    ]
    spark.range(rows).selectExpr(*columns, *notes).repartition(4).write.mode("overwrite").parquet(f"{folder}/lines")


def load_project(folder: Path, computed: Mapping[str, str], columns: Iterable[str]) -> LoadResult:
    """Load a project that computes columns of the lines and writes some columns."""
    from airflow_provider_runtime.core.catalog.loader import load_texts

    assignments = [f'          - {{column: {name}, expression: "{text}"}}' for name, text in computed.items()]
    text = CATALOG.format(
        folder=folder,
        payload="\n".join(f"      - {{name: {name}, type: string}}" for name in PAYLOAD),
        assignments="\n".join(assignments),
        columns=", ".join(columns),
    )
    return load_texts({"catalog.yaml": text}, folder)


def make_engine(folder: Path, kind: str, key: str) -> Callable[[SparkSession], None]:
    """Return what runs the project once."""
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
    from spark_jobs.run_project import run_snapshot

    computed = {name: text.replace("KEY", key) for name, text in FUNCTIONS[kind].items()}
    names = ["id", "unit", "hot", "booked", "amount", "weight", *PAYLOAD, *computed]
    loaded = load_project(folder, computed, names)

    def run(spark: SparkSession) -> None:
        snapshot = build_snapshot(loaded, "groups", "2026-01")
        report = run_snapshot(spark, snapshot, time.time_ns() // 1000, progress=lambda _: None)
        if report.error is not None:
            raise SystemExit(f"{report.error.code}: {report.error.message}")

    return run


def make_by_hand(folder: Path, kind: str, key: str) -> Callable[[SparkSession], None]:
    """Return what does the same with window functions."""

    def run(spark: SparkSession) -> None:
        frame = spark.read.parquet(f"{folder}/lines")
        if kind in ("totals", "all"):
            frame = add_totals(frame, key)
        if kind in ("ordered", "all"):
            frame = add_ordered(frame, key)
        if kind in ("allocate", "all"):
            frame = add_allocation(frame, key)
        frame.write.mode("overwrite").parquet(f"{folder}/by_hand")

    return run


def add_totals(frame: DataFrame, key: str) -> DataFrame:
    """Add a total and a share."""
    total = f"sum(amount) OVER (PARTITION BY {key})"
    return frame.selectExpr("*", f"{total} AS total", f"CAST(amount / {total} AS decimal(38,6)) AS part")


def add_ordered(frame: DataFrame, key: str) -> DataFrame:
    """Add a rank, a running total and the value before."""
    over = f"OVER (PARTITION BY {key} ORDER BY booked, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    return frame.selectExpr(
        "*",
        f"rank() OVER (PARTITION BY {key} ORDER BY amount DESC) AS place",
        f"sum(amount) {over} AS so_far",
        f"lag(amount) OVER (PARTITION BY {key} ORDER BY booked, id) AS before",
    )


def add_allocation(frame: DataFrame, key: str) -> DataFrame:
    """Add the parts of an amount by largest remainder: whole cents first, then one more where most was cut off."""
    cut = frame.selectExpr(
        "*", "100000000BD * weight AS product", f"sum(weight) OVER (PARTITION BY {key}) AS weights"
    ).selectExpr("*", "product % weights AS rest")
    cut = cut.selectExpr("*", "CAST((product - rest) / weights AS decimal(18,0)) AS whole")
    place = f"row_number() OVER (PARTITION BY {key} ORDER BY rest DESC, id)"
    left = f"100000000BD - sum(whole) OVER (PARTITION BY {key})"
    parts = cut.selectExpr("*", f"CAST((whole + IF({place} <= {left}, 1, 0)) / 100 AS decimal(18,2)) AS allocated")
    return parts.drop("product", "weights", "rest", "whole")


def read_processor(spark: SparkSession) -> float:
    """Return the seconds of processor time that Java has used."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    pid = jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(FUNCTIONS), default=list(FUNCTIONS))
    options = parser.parse_args()
    from airflow_provider_runtime.cli.local_spark import start_spark

    print("| functions | groups | by hand | engine | engine ÷ by hand | of processor |\n|" + " --- |" * 6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = start_spark("local[2]", {"spark.driver.memory": "4g"})
        write_lines(spark, folder, options.rows)
        for kind in options.only:
            for groups, key in (("even", "unit"), ("skewed", "hot")):
                runs = {"by hand": make_by_hand(folder, kind, key), "engine": make_engine(folder, kind, key)}
                times: dict[str, list[float]] = {side: [] for side in runs}
                efforts: dict[str, list[float]] = {side: [] for side in runs}
                # The first round warms Spark up.
                for turn in range(options.rounds + 1):
                    for side, run in runs.items():
                        begin, effort = time.perf_counter(), read_processor(spark)
                        run(spark)
                        if turn:
                            times[side].append(time.perf_counter() - begin)
                            efforts[side].append(read_processor(spark) - effort)
                hand, engine = (statistics.median(found) for found in times.values())
                less, more = (statistics.median(found) for found in efforts.values())
                print(
                    f"| {kind} | {groups} | {hand:.2f} s | {engine:.2f} s | {engine / hand:.2f} | {more / less:.2f} |",
                    flush=True,
                )
        spark.stop()


if __name__ == "__main__":
    main()

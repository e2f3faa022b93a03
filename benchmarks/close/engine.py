"""Runs the close pipeline with this project on a data folder and prints the times as one line of JSON.

    python benchmarks/close/engine.py --data FOLDER --out FOLDER

`startup_s` ends when the Spark session exists, `run_s` when the outputs are published; resolving stands between the two
and counts as `run_s`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

STARTED = float(os.environ.get("BENCH_T0") or time.time())
TIMESTAMP = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
SUMS = ("total_reporting", "total_local", "line_count", "amount_reporting")
CATALOG = Path(__file__).with_name("catalog.yaml")


def main() -> None:
    """Run the pipeline once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    from airflow_provider_runtime.cli.local_spark import start_spark

    spark = start_spark("local[2]", {"spark.driver.memory": "8g"})
    started = time.time()
    phases = run(spark, options.data.resolve(), options.out.resolve())
    finished = time.time()
    print(json.dumps({**describe(options), "startup_s": round(started - STARTED, 3),
                      "run_s": round(finished - started, 3), "phases": phases}), flush=True)  # fmt: skip
    spark.stop()


def run(spark: object, data: Path, out: Path) -> dict[str, float]:
    """Resolve, execute and publish."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot_builder import ResolveOptions, build_snapshot
    from spark_jobs.run_project import run_snapshot
    from spark_jobs.snapshot import parse_snapshot

    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        text = CATALOG.read_text(encoding="utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(out))
        Path(folder, "catalog.yaml").write_text(text, encoding="utf-8")
        snapshot = build_snapshot(load_catalog(folder), "close", "2026-01", ResolveOptions(run_timestamp=TIMESTAMP))
    resolved = time.time()
    report = run_snapshot(spark, parse_snapshot(snapshot.content, snapshot.sha256), int(began * 1000))  # type: ignore[arg-type]
    if report.error is not None:
        raise SystemExit(f"{report.error.code}: {report.error.message}")
    return {"resolve": round(resolved - began, 3), **report.timings}


def describe(options: argparse.Namespace) -> dict[str, object]:
    """Read rows and exact sums back from the files."""
    import pyarrow.compute
    import pyarrow.dataset

    def open_output(name: str) -> pyarrow.dataset.Dataset:
        return pyarrow.dataset.dataset(options.out / name, format="parquet")

    table = open_output("out_b").to_table(columns=list(SUMS))
    sums = {f"checksum_{name}": str(pyarrow.compute.sum(table[name]).as_py() or Decimal(0)) for name in SUMS}
    rows = pyarrow.dataset.dataset(options.data / "transactions", format="parquet").count_rows()
    return {"impl": "engine", "rows": rows, "out_a_rows": open_output("out_a").count_rows(),
            "out_b_rows": table.num_rows, **sums}  # fmt: skip


if __name__ == "__main__":
    main()

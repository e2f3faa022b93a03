"""Runs the close pipeline with this project on a data folder and prints the times as one line of JSON.

    python benchmarks/close/engine.py --data FOLDER --out FOLDER

`startup_s` ends when the Spark session exists, `run_s` when the outputs are published; resolving stands between the two
and counts as `run_s`.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from outcome import print_outcome, read_options

TIMESTAMP = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
CATALOG = Path(__file__).with_name("catalog.yaml")


def main() -> None:
    """Run the pipeline once."""
    options = read_options()
    from airflow_provider_runtime.cli.local_spark import start_spark

    spark = start_spark("local[2]", {"spark.driver.memory": "8g"})
    started = time.time()
    phases = run(spark, options.data, options.out)
    print_outcome("engine", options, started, time.time(), phases=phases)
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


if __name__ == "__main__":
    main()

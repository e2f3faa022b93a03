"""Runs a pipeline with this project on a data folder and prints the times as one line of JSON.

    python benchmarks/engine.py --pipeline close --compiler chosen --data FOLDER --out FOLDER

As the command `run` does: resolves first, which needs no Spark, then starts Spark, executes and publishes. `startup_s`
ends when the Spark session exists, `run_s` when the outputs are published. Java's compilers are chosen by the size of
the inputs, or set: `quick` for the quick one alone, or `both`.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from outcome import SUMS, print_outcome, read_options

from airflow_provider_runtime.cli.local_spark import start_spark
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.runs.small_runs import is_small_run
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.job import run_snapshot

TIMESTAMP = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
HERE = Path(__file__).parent


def main() -> None:
    """Run the pipeline once."""
    options = read_options("--pipeline", "--compiler")
    began = time.time()
    snapshot = resolve(options.pipeline, options.data, options.out)
    resolved = time.time()
    is_small = is_small_run(snapshot) if options.compiler == "chosen" else options.compiler == "quick"
    spark = start_spark("local[2]", {"spark.driver.memory": "8g"}, is_small=is_small)
    started = time.time()
    report = run_snapshot(spark, snapshot, int(began * 1000))
    if report.error is not None:
        raise SystemExit(f"{report.error.code}: {report.error.message}")
    phases = {"resolve": round(resolved - began, 3), **report.timings}
    print_outcome("engine", options, started, time.time(), SUMS[options.pipeline], phases=phases)
    spark.stop()


def resolve(pipeline: str, data: Path, out: Path) -> Snapshot:
    """Return the snapshot of a pipeline's catalog for these folders."""
    catalog = HERE / pipeline / "catalog.yaml"
    with tempfile.TemporaryDirectory() as folder:
        text = catalog.read_text(encoding="utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(out))
        Path(folder, "catalog.yaml").write_text(text, encoding="utf-8")
        return build_snapshot(load_catalog(folder), pipeline, "2026-01", ResolveOptions(run_timestamp=TIMESTAMP))


if __name__ == "__main__":
    main()

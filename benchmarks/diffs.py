"""How long a comparison takes beside the run that made the rows.

    python benchmarks/diffs.py [--rows N] [--quick]

The rows of a ledger are converted and published, one in a hundred of its amounts is changed, and the next run is
staged. Its rows are compared with those that are published by key, as a multiset, and after a run that changed
nothing. It prints one line a measurement, with the target: half the time of the run.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

CLOSE = Path(__file__).with_name("close")
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.report import Report
    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.job import CompareRequest
PROJECT = """
project:
  id: ledger
  name: ledger
  version: 1
  input_dataset_id: transactions
  operations:
    - seq: 1
      name: Convert
      type: update
      arguments:
        joins:
          - alias: fx
            dataset_id: exchange-rates
            on: 'currency = fx.from_currency AND fx.to_currency = "USD" AND fx.rate_type = "closing"'
        assignments: [{column: amount_reporting, expression: "ROUND(amount_local * fx.rate, 2) + @CHANGE@"}]
    - seq: 2
      name: Publish
      type: output
      arguments:
        destination: {datasource_id: out, path: ledger}
        columns: [journal_id, line_number, account_code, currency, amount_local, amount_reporting]
"""
CHANGED = "IF(RIGHT(journal_id, 2) = '07', 0.01, 0.00)"


def resolve(data: Path, folder: Path, change: str) -> Snapshot:
    """Return the snapshot of the ledger with a change to its amounts."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

    catalog = folder / "catalog"
    catalog.mkdir(exist_ok=True)
    text = (
        (CLOSE / "catalog.yaml").read_text("utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(folder / "out"))
    )
    datasets = text.partition("---\nproject:")[0]
    (catalog / "catalog.yaml").write_text(f"{datasets}---{PROJECT.replace('@CHANGE@', change)}", "utf-8")
    return build_snapshot(load_catalog(catalog), "ledger", "2026-01")


def run(spark: SparkSession, snapshot: Snapshot, *, staged: bool) -> tuple[Report, float]:
    """Run a snapshot, and return its report and how long it took."""
    from spark_jobs.job import run_snapshot

    until = int((time.time() + 3600) * 1000) if staged else None
    begin = time.perf_counter()
    report = run_snapshot(spark, snapshot, time.time_ns() // 1000, progress=lambda _: None, keep_until=until)
    if report.error is not None:
        raise SystemExit(f"{report.error.code}: {report.error.message}")
    return report, time.perf_counter() - begin


def measure(compare: Callable[[], object], rounds: int) -> float:
    """Return the median time of a comparison."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        compare()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="1e6")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rows and once, to see that it works")
    options = parser.parse_args()
    rows, rounds = ("2e3", 1) if options.quick else (options.rows, options.rounds)
    from airflow_provider_runtime.cli.local_spark import start_spark
    from spark_jobs.compare.outputs import CompareRequest
    from spark_jobs.job import compare_staged

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = [sys.executable, str(CLOSE.parent / "data.py"), "--rows", rows, "--out", str(folder / "data")]
        subprocess.run(program, check=True, capture_output=True)
        spark = start_spark("local[2]", {"spark.driver.memory": "4g"})
        published = resolve(folder / "data", folder, "0.00")
        changed = resolve(folder / "data", folder, CHANGED)
        # The first runs warm Spark up.
        runs = [run(spark, published, staged=False)[1] for _ in range(rounds + 1)]
        limit = statistics.median(runs[1:]) / 2
        print(f"{f'run of {rows} rows that are published':62} {2 * limit:6.2f} s", flush=True)
        for what, snapshot, key in (
            ("by key", changed, ("journal_id", "line_number")),
            ("as a multiset", changed, None),
            ("equal files", published, None),
        ):
            report, _ = run(spark, snapshot, staged=True)
            request = CompareRequest(key)

            def compare(
                snapshot: Snapshot = snapshot, report: Report = report, request: CompareRequest = request
            ) -> object:
                return compare_staged(spark, snapshot, report, request)

            found = compare().outputs[0]
            assert found.rows_before == found.rows_after
            assert found.differs == (what != "equal files"), found
            seconds = measure(compare, rounds)
            print(
                f"{f'  compared with what is published, {what}':62} {seconds:6.2f} s   (target {limit:.2f} s)",
                flush=True,
            )
        spark.stop()


if __name__ == "__main__":
    main()

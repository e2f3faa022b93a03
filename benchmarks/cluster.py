"""The close pipeline on a standalone cluster of this machine: two workers with an executor of one core and 3 GiB each.

    python benchmarks/cluster.py --sizes 1e7 1e8 [--work FOLDER]

The driver has a heap of 1 GiB. Row counts and sums are compared with what DuckDB makes of the same data. It prints the
lines of a table: time, the driver's memory with what is not heap, and what a row of the ledger costs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
from compare import Family
from data import write_data

from tests.integration.spark_cluster import SparkCluster, start_spark_cluster

HERE = Path(__file__).parent
DRIVER, EXECUTOR = "1g", "3g"
CONVERTED = "CAST(amount_local * rate AS DECIMAL(18,2))"
EXPECTED = f"""
SELECT count(*), sum(amount_local), sum({CONVERTED})
FROM read_parquet('{{data}}/transactions/*.parquet') t
LEFT JOIN (SELECT from_currency, rate FROM read_parquet('{{data}}/exchange_rates/*.parquet')
  WHERE to_currency = 'USD' AND rate_type = 'closing' AND _period_from <= DATE '2026-01-01'
  AND coalesce(_period_to > DATE '2026-01-01', TRUE)) ON currency = from_currency
WHERE t._period = '2026-01' AND amount_local <> 0"""
FOUND = """
SELECT count(*) FILTER (_operation_seq = 0), sum(total_local), sum(total_reporting)
FROM read_parquet('{out}/out_b/**/*.parquet')"""


SUMS = ("bytes_shuffled", "bytes_spilled", "bytes_written")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run: its seconds, those of the processor, the driver's memory, and sums of its stages."""

    seconds: float
    processor: float
    driver_mib: float
    sums: Mapping[str, int]


def main() -> None:
    """Run the sizes one after the other and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1e6", "1e7"])
    parser.add_argument("--work", type=Path, default=HERE.parent / ".cache" / "bench")
    options = parser.parse_args()
    each = ", ".join(("of the ledger", *(key.removeprefix("bytes_") for key in SUMS)))
    print(f"| rows | s | times the one before | processor µs a row | driver MiB | bytes a row: {each} |")
    print("| --- | --- | --- | --- | --- | --- |")
    before: float | None = None
    for size in options.sizes:
        data = (options.work / "data" / size).resolve()
        write_data(data, int(float(size)))
        # A cluster for each size: what one run leaves behind neither helps nor hinders the next.
        with start_spark_cluster(cores=1, memory=EXECUTOR) as cluster, tempfile.TemporaryDirectory() as folder:
            outcome = run_close(cluster, data, Path(folder))
            check_sums(data, Path(folder) / "out")
        print(describe(size, outcome, before, measure_files(data)), flush=True)
        before = outcome.seconds


def run_close(cluster: SparkCluster, data: Path, folder: Path) -> Outcome:
    """Run the project with the command, as its users do."""
    catalog, profile, log = folder / "catalog", folder / "profile.json", folder / "log.txt"
    text = (HERE / "close" / "catalog.yaml").read_text(encoding="utf-8")
    catalog.mkdir()
    made = text.replace("@DATA@", str(data)).replace("@OUT@", str(folder / "out"))
    (catalog / "catalog.yaml").write_text(made, encoding="utf-8")
    cluster.conf |= {"spark.driver.memory": DRIVER, "spark.executor.memory": EXECUTOR}
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", "run", "--project", "close"]
    command += ["--period", "2026-01", "--catalog", str(catalog), "--master", cluster.url, "--profile", str(profile)]
    begin = time.perf_counter()
    with log.open("w") as output, Family(os.getpid()) as everything:
        arguments = [*command, *cluster.list_conf_arguments()]
        process = subprocess.Popen(arguments, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        with Family(process.pid) as driver:
            code = process.wait()
    seconds = time.perf_counter() - begin
    if code:
        raise SystemExit(f"the run failed:\n{log.read_text(encoding='utf-8')[-4000:]}")
    steps = json.loads(profile.read_text(encoding="utf-8"))["steps"]
    sums = {key: sum(int(step[key]) for step in steps) for key in SUMS}
    return Outcome(seconds, everything.processor, driver.peak_mib, sums)


def measure_files(data: Path) -> int:
    """Return the bytes of the ledger; Spark counts only some of what it reads from a local disk."""
    return sum(path.stat().st_size for path in (data / "transactions").iterdir())


def describe(size: str, outcome: Outcome, before: float | None, read: int) -> str:
    """Return a size's line of the table."""
    rows = float(size)
    growth = "" if before is None else f"{outcome.seconds / before:.1f}"
    each = ", ".join(f"{count / rows:.2g}" for count in (read, *outcome.sums.values()))
    processor = f"{outcome.processor / rows * 1e6:.1f}"
    return f"| {size} | {outcome.seconds:.0f} | {growth} | {processor} | {outcome.driver_mib:.0f} | {each} |"


def check_sums(data: Path, out: Path) -> None:
    """Stop when rows or sums are not what DuckDB finds."""
    queries = (EXPECTED.format(data=data), FOUND.format(out=out))
    expected, found = (duckdb.connect().execute(sql).fetchall() for sql in queries)
    if expected != found:
        raise SystemExit(f"the run made {found}, DuckDB makes {expected}")


if __name__ == "__main__":
    main()

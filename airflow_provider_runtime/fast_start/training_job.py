"""The Spark application of the training: files of rows, then a close that reads them, as users' runs do."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

PERIOD = "2026-01"
ROWS = 4000
_CATALOG = Path(__file__).with_name("training.yaml")


def main() -> None:
    """Write the catalog and its data into a folder, and run its projects one after the other."""
    folder = Path(sys.argv[1])
    write_data(folder / "data")
    (folder / "catalog").mkdir()
    (folder / "catalog" / "training.yaml").write_text(_CATALOG.read_text(encoding="utf-8"), encoding="utf-8")
    run(folder / "catalog", ("loading", "closing"))


def write_data(folder: Path) -> None:
    """Write a ledger and its reference data as CSV."""
    folder.mkdir()
    chance = random.Random(1)
    currencies = ["EUR", "GBP", "CHF", "JPY", "SEK", "PLN", "BRL", "USD"]
    lines = ["journal_id,line_number,posted,account,currency,amount"]
    for number in range(ROWS):
        account, amount = 1000 + chance.randrange(60), f"{chance.randrange(-900000, 900000) / 100:.2f}"
        day = f"{PERIOD}-{chance.randrange(1, 29):02d}"
        lines.append(f"JE-{number // 4},{number % 4},{day},{account},{chance.choice(currencies)},{amount}")
    rates = ["currency,rate,valid_from,valid_to"]
    rates += [f"{name},{chance.randrange(1, 3000000) / 1000000:.6f},2025-12-01," for name in currencies]
    accounts = ["code,kind", *(f"{1000 + number},{chance.choice(['asset', 'revenue'])}" for number in range(55))]
    for name, content in {"ledger": lines, "rates": rates, "accounts": accounts}.items():
        (folder / f"{name}.csv").write_text("\n".join(content) + "\n", encoding="utf-8")


def run(catalog: Path, projects: tuple[str, ...]) -> None:
    """Resolve, execute and publish each project in one session."""
    from pyspark.sql import SparkSession

    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
    from spark_jobs.job import run_snapshot

    loaded = load_catalog(catalog)
    spark = SparkSession.builder.appName("training").getOrCreate()
    for project in projects:
        snapshot = build_snapshot(loaded, project, PERIOD)
        report = run_snapshot(spark, snapshot, int(time.time() * 1000))
        if report.error is not None:
            raise SystemExit(f"{project}: {report.error.code} {report.error.message}")
    spark.stop()


if __name__ == "__main__":
    main()

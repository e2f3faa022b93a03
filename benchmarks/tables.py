"""How long Iceberg and Delta tables take: to pin a period's files, and to replace a period in one commit.

    python benchmarks/tables.py [--periods 60] [--rounds 40]

The table has a file for each period, on this machine's disk; the catalog of Iceberg is SQLite. It prints the lines of a
table, in milliseconds. Spark has no part in it.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_runtime.core.tables import (
    CommitNote,
    CommitRequest,
    RowFilter,
    TableAddress,
    TableColumn,
    open_table,
)

COLUMNS = (TableColumn("account", "string"), TableColumn("amount", "bigint"), TableColumn("_period", "string"))
ROWS = 1000


def make_address(kind: Literal["iceberg", "delta"], root: Path) -> TableAddress:
    if kind == "delta":
        return TableAddress("delta", f"file://{root}/ledger", "lake/ledger")
    properties = {"type": "sql", "uri": f"sqlite:///{root}/catalog.db", "warehouse": f"file://{root}/warehouse"}
    return TableAddress("iceberg", "finance.ledger", "lake/finance.ledger", "lake", properties)


def stage(address: TableAddress, period: str, token: int) -> CommitRequest:
    """Write rows as a job would."""
    run = hashlib.sha256(period.encode()).hexdigest()[:16]
    folder = f"runtime-{run}/{token:020d}-0-10"
    path = Path(open_table(address).find_location().removeprefix("file://")) / folder
    path.mkdir(parents=True)
    (path / "_uncommitted").touch()
    rows = {"account": [f"A{n}" for n in range(ROWS)], "amount": [token] * ROWS, "_period": [period] * ROWS}
    pq.write_table(pa.table(rows), path / "part.parquet")
    return CommitRequest(
        CommitNote("close", period, "d" * 64, token, 10, folder, (period,)), COLUMNS, ("part.parquet",)
    )


def measure(calls: list[Callable[[], object]]) -> str:
    """Return the median and the longest, in milliseconds."""
    took = []
    for call in calls:
        began = time.perf_counter()
        call()
        took.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(took):.0f} ({max(took):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--periods", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    periods = [f"{2020 + n // 12}-{n % 12 + 1:02}" for n in range(asked.periods)]
    print("| | pin a period | replace a period |")
    print("|---|---|---|")
    for kind in ("iceberg", "delta"):
        with tempfile.TemporaryDirectory() as folder:
            address = make_address(kind, Path(folder))  # type: ignore[arg-type]
            for token, period in enumerate(periods, start=1):
                open_table(address).commit(stage(address, period, token))
            chosen = [periods[n % len(periods)] for n in range(asked.rounds)]
            filters = [RowFilter("_period", period) for period in chosen]
            pins = measure([lambda rows=rows: open_table(address).find_pin(None, rows) for rows in filters])  # type: ignore[misc]
            requests = [stage(address, period, 1000 + n) for n, period in enumerate(chosen)]
            commits = measure([lambda request=r: open_table(address).commit(request) for r in requests])  # type: ignore[misc]
            print(f"| {kind} | {pins} | {commits} |", flush=True)


if __name__ == "__main__":
    main()

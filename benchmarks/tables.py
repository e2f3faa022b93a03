"""How long Iceberg and Delta tables take: to pin a period's files, and to replace a period in one commit.

    python benchmarks/tables.py [--periods 60] [--rounds 40]

The table has a file for each period, on this machine's disk; the catalog of Iceberg is SQLite. It prints the lines of a
table, in milliseconds: the time of the processor, and in brackets the shortest time of the clock. Spark has no part.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

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


def make_address(kind: str, root: Path) -> TableAddress:
    """Return where the table is."""
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
    note = CommitNote("close", period, "d" * 64, token, 10, folder, (period,))
    return CommitRequest(note, COLUMNS, ("part.parquet",))


def pin(address: TableAddress, rows: RowFilter) -> None:
    """List the files of a period, as resolving does."""
    open_table(address).find_pin(None, rows)


def commit(address: TableAddress, request: CommitRequest) -> None:
    """Commit, as the submitting process does."""
    open_table(address).commit(request)


def measure(calls: Sequence[Callable[[], None]]) -> str:
    """Return the median of the processor's time, and the shortest of the clock's."""
    worked, took = [], []
    for call in calls:
        began, began_work = time.perf_counter(), time.process_time()
        call()
        worked.append((time.process_time() - began_work) * 1000)
        took.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(worked):.0f} ({min(took):.0f})"


def measure_format(kind: str, root: Path, periods: Sequence[str], rounds: int) -> str:
    """Return the line of a format."""
    address = make_address(kind, root)
    for token, period in enumerate(periods, start=1):
        commit(address, stage(address, period, token))
    chosen = [periods[number % len(periods)] for number in range(rounds)]
    pins = measure([partial(pin, address, RowFilter("_period", period)) for period in chosen])
    requests = [stage(address, period, len(periods) + number) for number, period in enumerate(chosen, start=1)]
    commits = measure([partial(commit, address, request) for request in requests])
    return f"| {kind} | {pins} | {commits} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--periods", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    periods = [f"{2020 + number // 12}-{number % 12 + 1:02}" for number in range(asked.periods)]
    print(f"| of {asked.periods} periods | pin one | replace one |")
    print("|---|---|---|")
    for kind in ("iceberg", "delta"):
        with tempfile.TemporaryDirectory() as folder:
            print(measure_format(kind, Path(folder), periods, asked.rounds), flush=True)


if __name__ == "__main__":
    main()

"""What a run of 1e5 rows takes in a warm session, and what an append of 1e5 rows adds to it.

    python benchmarks/warm.py [--rounds 20] [--work FOLDER]

The same run is repeated in one session: from a resolved snapshot to published files. Variants take turns, and what an
append adds is the median of its differences to the run before it without one. It prints the lines of a table.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from data import write_data
from growth import Operations, Session, make_output

if TYPE_CHECKING:
    from spark_jobs.contract.snapshot import Snapshot

ROWS = 100_000
WARM_UP = 10
LIMITS = {"without an append": 150, "append": 10, "append of a selection": 20, "append of an aggregate": 50}
"""Milliseconds of an engine in memory: of the whole run, and of what each append adds."""
AGGREGATE = {
    "source": {"dataset_id": "budgets"},
    "aggregation": {
        "group_by": ["account_code"],
        "aggregations": [{"column": "amount_local", "expression": "SUM(amount_local)"}],
    },
}
APPENDS = {
    "without an append": None,
    "append": {"source": {"dataset_id": "budgets"}},
    "append of a selection": {"source": {"dataset_id": "budgets"}, "source_selector": 'budget_type = "original"'},
    "append of an aggregate": AGGREGATE,
}


def make_operations(append: dict[str, object] | None) -> Operations:
    """Return an output of the ledger, with budgets appended to it if asked for."""
    fill = {"assignments": [{"column": "budget_type", "expression": '"actual"'}]}
    made: Operations = [{"seq": 1, "name": "Budget type", "type": "update", "arguments": fill}]
    if append is not None:
        made.append({"seq": 2, "name": "Budgets", "type": "append", "arguments": append})
    return [*made, make_output(3, "o")]


def time_run(session: Session, resolve: Callable[[], Snapshot]) -> float:
    """Return the milliseconds of one run."""
    from spark_jobs.job import run_snapshot

    snapshot = resolve()
    begin = time.perf_counter()
    report = run_snapshot(session.spark, snapshot, time.time_ns() // 1_000_000, progress=lambda _: None)
    if report.error is not None:
        raise SystemExit(f"{report.error.code}: {report.error.message}")
    return (time.perf_counter() - begin) * 1000


def measure(session: Session, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of every round for each variant."""
    resolvers = {name: session.load(make_operations(append), name) for name, append in APPENDS.items()}
    found: dict[str, list[float]] = {name: [] for name in APPENDS}
    for number in range(WARM_UP + rounds):
        for name, resolve in resolvers.items():
            taken = time_run(session, resolve)
            if number >= WARM_UP:
                found[name].append(taken)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--work", type=Path, default=Path(__file__).parent.parent / ".cache" / "bench")
    options = parser.parse_args()
    data = options.work.resolve() / "data" / "warm"
    write_data(data, ROWS, budget_rows=ROWS)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Session(data, Path(folder)), options.rounds)
    base = found.pop("without an append")
    print("| run of 1e5 rows | ms, median | in memory ms |\n| --- | --- | --- |")
    print(f"| without an append | {statistics.median(base):.0f} | {LIMITS['without an append']} |")
    for name, times in found.items():
        added = statistics.median(time - alone for time, alone in zip(times, base, strict=True))
        print(f"| {name} of 1e5 rows adds | {added:.0f} | {LIMITS[name]} |")


if __name__ == "__main__":
    main()

"""How long it takes to build and plan two hundred updates, beside the same updates as SQL text by hand.

    python benchmarks/planning.py [--quick]

It prints the lines of a table. There are few rows: the engine materialises rows where a plan grows deep, and
copying many would hide what the operations cost.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from growth import Operations, Session, make_updates

from spark_jobs.errors import JobError
from spark_jobs.sinks.memory import MemorySinks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import OutputOperation
    from spark_jobs.sinks.protocol import StagedOutput

FEW_ROWS = 1000


class PlanningSinks(MemorySinks):
    """Has an output's rows planned, and ends the run there."""

    def __init__(self) -> None:
        super().__init__()
        self.has_planned = False

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        """Plan, and refuse to compute anything."""
        plan(frame)
        self.has_planned = True
        raise JobError("OUTPUT_003", f"{output.name} was only planned")


def plan(frame: DataFrame) -> None:
    """Have Spark make the physical plan."""
    frame._jdf.queryExecution().executedPlan()


def time_engine(session: Session, operations: Operations) -> float:
    """Return how long the job takes from the snapshot to the physical plan of the first output.

    Rows are materialised on the way when a plan grows deep; with few rows that costs little.
    """
    from spark_jobs.rows.executor import execute

    snapshot = session.load(operations)()
    sinks = PlanningSinks()
    begin = time.time()
    with suppress(JobError):
        execute(session.spark, snapshot, sinks)
    assert sinks.has_planned
    return time.time() - begin


def time_by_hand(session: Session, count: int) -> float:
    """Return how long the same updates take as SQL text without counts, ids and deletions."""
    begin = time.time()
    added = [f"CAST(NULL AS decimal(22,2)) AS added_{number}" for number in range(20)]
    frame = session.spark.read.parquet(str(session.data / "transactions")).selectExpr("*", *added)
    for seq in range(1, count + 1):
        changed = {f"added_{(3 * seq + offset) % 20}" for offset in range(3)}
        value = f"IF(amount_local > {seq}, amount_local + {seq}, amount_local)"
        columns = [
            f"IF(source_system = 'ERP', {value}, {name}) AS {name}" if name in changed else name
            for name in frame.columns
        ]
        frame = frame.selectExpr(*columns)
    plan(frame)
    return time.time() - begin


def measure_planning(session: Session, count: int, rounds: int) -> str:
    """Return the line for updates that are built and planned, but not executed."""
    operations = make_updates(count)
    pairs = [(time_engine(session, operations), time_by_hand(session, count)) for _ in range(rounds)]
    engine, by_hand = (min(times) for times in zip(*pairs, strict=True))
    shown = f"engine: {engine:.2f} s, SQL text by hand: {by_hand:.2f} s"
    return f"| plan of {count} updates | {shown} | {engine / by_hand:.2f} |"


def write_few_rows(folder: Path) -> Path:
    """Write the close's data for almost no rows."""
    program = Path(__file__).with_name("data.py")
    subprocess.run([sys.executable, program, "--rows", str(FEW_ROWS), "--out", folder], check=True, capture_output=True)
    return folder


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few and once, to see that it works")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        session = Session(write_few_rows(Path(name, "few")), Path(name))
        print("| what is planned | time | engine ÷ by hand |\n| --- | --- | --- |")
        print(measure_planning(session, 5 if options.quick else 200, 1 if options.quick else 5), flush=True)
        session.spark.stop()


if __name__ == "__main__":
    main()

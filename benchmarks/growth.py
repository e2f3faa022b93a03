"""How time grows with operations, outputs, aggregates and periods, in one warm session.

    python benchmarks/growth.py --data FOLDER [--quick]

FOLDER is one that data.py wrote. It prints the lines of a table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_jobs.contract.snapshot import Snapshot

CLOSE = Path(__file__).with_name("close") / "catalog.yaml"
PERIODS = 12
Operations = list[dict[str, Any]]
CONVERT: dict[str, Any] = {
    "seq": 1,
    "name": "Convert",
    "type": "update",
    "arguments": {
        "joins": [
            {
                "alias": "fx",
                "dataset_id": "exchange-rates",
                "on": 'currency = fx.from_currency AND fx.to_currency = "USD" AND fx.rate_type = "closing"',
            }
        ],
        "assignments": [{"column": "amount_reporting", "expression": "amount_local * fx.rate"}],
    },
}


def make_output(seq: int, path: str) -> dict[str, Any]:
    """Return an output of some columns."""
    columns = ["journal_id", "line_number", "currency", "amount_reporting"]
    destination = {"datasource_id": "out", "path": path}
    arguments = {"destination": destination, "columns": columns}
    return {"seq": seq, "name": path, "type": "output", "arguments": arguments}


def make_outputs(count: int) -> Operations:
    """Return a conversion and a number of outputs of its rows."""
    return [CONVERT, *(make_output(seq, f"o{seq}") for seq in range(2, count + 2))]


def make_aggregates(count: int) -> Operations:
    """Return a conversion, a number of aggregations that each sees the ones before it, and an output."""
    groups = (["currency"], ["source_system"], ["account_code"], ["cost_center_code"])
    made = [
        {
            "seq": seq,
            "name": f"Sum {seq}",
            "type": "aggregate",
            "arguments": {
                "group_by": groups[seq % len(groups)],
                "aggregations": [{"column": f"total_{seq}", "expression": "SUM(amount_reporting)"}],
            },
        }
        for seq in range(2, count + 2)
    ]
    return [CONVERT, *made, make_output(count + 2, "o")]


def make_updates(count: int) -> Operations:
    """Return updates of three assignments each; together they fill twenty columns beside the table's ten."""
    made: Operations = []
    for seq in range(1, count + 1):
        columns = [f"added_{(3 * seq + offset) % 20}" for offset in range(3)]
        assignments = [
            {"column": column, "expression": f"IF(amount_local > {seq}, amount_local + {seq}, amount_local)"}
            for column in columns
        ]
        made.append(
            {
                "seq": seq,
                "name": f"Update {seq}",
                "type": "update",
                "selector": 'source_system = "ERP"',
                "arguments": {"assignments": assignments},
            }
        )
    return [*made, {**make_output(count + 1, "o"), "arguments": {"destination": {"datasource_id": "out", "path": "o"}}}]


def write_catalog(folder: Path, data: Path, operations: Operations) -> None:
    """Write the close's datasets with another project."""
    folder.mkdir(parents=True, exist_ok=True)
    text = CLOSE.read_text(encoding="utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(folder.parent / "out"))
    project = {"id": "p", "name": "p", "version": 1, "input_dataset_id": "transactions", "operations": operations}
    datasets = text.partition("---\nproject:")[0]
    document = json.dumps({"project": project}, indent=1)
    (folder / "catalog.yaml").write_text(f"{datasets}---\n{document}\n", encoding="utf-8")


class Session:
    """A Spark session that runs projects."""

    def __init__(self, data: Path, folder: Path) -> None:
        from airflow_provider_runtime.cli.local_spark import start_spark

        self.data, self.folder = data, folder
        self.spark = start_spark("local[2]", {"spark.driver.memory": "4g"})

    def time(self, operations: Operations, rounds: int) -> float:
        """Return the best time of a project, from the loaded catalog to the published outputs."""
        from spark_jobs.job import run_snapshot

        resolve = self.load(operations)
        best = float("inf")
        for _ in range(rounds):
            begin = time.time()
            snapshot = resolve()
            report = run_snapshot(self.spark, snapshot, int(begin * 1000), progress=lambda _: None)
            if report.error is not None:
                raise SystemExit(f"{report.error.code}: {report.error.message}")
            best = min(best, time.time() - begin)
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        return best

    def load(self, operations: Operations, name: str = "catalog") -> Callable[[], Snapshot]:
        """Return what resolves a project of these operations, its catalog written to the folder `name` and loaded."""
        from airflow_provider_runtime.core.catalog.loader import load_catalog
        from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

        write_catalog(self.folder / name, self.data, operations)
        loaded = load_catalog(self.folder / name)
        return lambda: build_snapshot(loaded, "p", "2026-01")


def measure_curves(session: Session, counts: Mapping[str, Sequence[int]], rounds: int) -> list[str]:
    """Return a line for each curve: the seconds, and how often the first one's the last takes."""
    makers: dict[str, Callable[[int], Operations]] = {
        "outputs": make_outputs,
        "aggregates": make_aggregates,
        "updates of three columns": make_updates,
    }
    session.time(make_aggregates(2), 2)
    lines = []
    for name, make in makers.items():
        times = [session.time(make(count), rounds) for count in counts[name]]
        shown = ", ".join(f"{count}: {seconds:.2f} s" for count, seconds in zip(counts[name], times, strict=True))
        lines.append(f"| {name} | {shown} | {times[-1] / times[0]:.1f} |")
    return lines


def measure_backfill(folder: Path, periods: int) -> str:
    """Return the line for several periods in one command against as many commands."""
    write_periods(folder, periods)
    last = f"2026-{periods:02d}"
    together = time_commands(folder, [f"2026-01..{last}"])
    apart = time_commands(folder, [f"2026-{month:02d}" for month in range(1, periods + 1)])
    times = f"one command: {together:.1f} s, {periods} commands: {apart:.1f} s"
    return f"| {periods} periods | {times} | {together / apart:.2f} |"


def write_periods(folder: Path, periods: int) -> None:
    """Write a starter project with a file of transactions for each month."""
    program = [sys.executable, "-m", "airflow_provider_runtime.cli.main", "init", str(folder)]
    subprocess.run(program, check=True, capture_output=True)
    ledger = folder / "data" / "transactions"
    content = (ledger / "2026-01.csv").read_text(encoding="utf-8")
    for month in range(1, periods + 1):
        text = content.replace("2026-01", f"2026-{month:02d}")
        (ledger / f"2026-{month:02d}.csv").write_text(text, encoding="utf-8")


def time_commands(folder: Path, periods: Sequence[str]) -> float:
    """Return the time of running the starter project for each of the periods, one command after the other."""
    begin = time.perf_counter()
    for period in periods:
        command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", "run", "--project", "fx-conversion"]
        done = subprocess.run([*command, "--period", period], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{period}: {done.stdout}{done.stderr}")
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="few and small, to see that it works")
    options = parser.parse_args()
    steps = (1, 2) if options.quick else (1, 2, 4, 8)
    counts = {
        "outputs": steps,
        "aggregates": steps,
        "updates of three columns": (1, 5) if options.quick else (10, 50, 200),
    }
    print("| what grows | time | last ÷ first |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        session = Session(options.data.resolve(), Path(name))
        for line in measure_curves(session, counts, 1 if options.quick else 3):
            print(line, flush=True)
        session.spark.stop()
        if not options.quick:
            print(measure_backfill(Path(name, "backfill"), PERIODS), flush=True)


if __name__ == "__main__":
    main()

"""What checks cost: the close pipeline without checks, with four, and with five, taking turns.

    python benchmarks/checks.py --data FOLDER [--rounds N] [--commands N]

FOLDER is one that data.py wrote. The fifth check is `unique` on a key that no aggregate has grouped by. Runs are
measured in one warm session, and as commands, whose start counts; by the clock, and by the time of the processors.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from spark_jobs.contract.snapshot import Snapshot

CLOSE = Path(__file__).with_name("close") / "catalog.yaml"
UNIQUE = "{name: one row a line, output: 5, unique: [journal_id, line_number]}"
OTHERS = (
    "{name: every line has a journal, output: 5, rows: LEN(journal_id) > 2}",
    "{name: nothing lost, output: 9, where: _operation_seq = 0, value: SUM(amount_local),"
    " equals: {input: SUM(amount_local)}}",
    "{name: total, output: 5, value: SUM(amount_reporting)}",
    "{name: plausible, output: 5, value: AVG(amount_reporting), between: [-100000000, 100000000]}",
)
LIMITS = {"four checks": 3, "five checks": 8}
"""Percent of the run that they may cost."""
WARM_UP = 2
ARGUMENTS = ("--project", "close", "--period", "2026-01", "--master", "local[2]")
PR_SET_CHILD_SUBREAPER = 36
T = TypeVar("T")


def load(data: Path, folder: Path, checks: tuple[str, ...]) -> Callable[[], Snapshot]:
    """Return what resolves the close with these checks."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

    catalog = folder / "catalog"
    catalog.mkdir(parents=True)
    text = CLOSE.read_text(encoding="utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(folder / "out"))
    listed = "".join(f"\n    - {check}" for check in checks)
    (catalog / "catalog.yaml").write_text(text.rstrip() + (f"\n  checks:{listed}\n" if checks else "\n"), "utf-8")
    loaded = load_catalog(catalog)
    return lambda: build_snapshot(loaded, "close", "2026-01")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run took."""

    seconds: float
    processor: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each kind in a warm session")
    parser.add_argument("--commands", type=int, default=3, help="runs of each kind as a command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        resolves = {
            kind: load(options.data.resolve(), Path(name, kind), checks)
            for kind, checks in {"no checks": (), "four checks": OTHERS, "five checks": (*OTHERS, UNIQUE)}.items()
        }
        if options.rounds:
            show("warm runs", measure_warm(resolves, options.rounds))
        if options.commands:
            folders = {kind: Path(name, kind) for kind in resolves}
            show("commands", take_turns(folders, run_command, options.commands))


def measure_warm(resolves: Mapping[str, Callable[[], Snapshot]], rounds: int) -> Mapping[str, list[Measured]]:
    """Measure runs in one session; the first rounds warm Spark up."""
    from airflow_provider_runtime.cli.local_spark import start_spark
    from spark_jobs.job import run_snapshot

    spark = start_spark("local[2]", {"spark.driver.memory": "4g"})
    java = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat")  # type: ignore[attr-defined]

    def read_processor() -> float:
        user, system = java.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") + time.process_time()

    def run(resolve: Callable[[], Snapshot]) -> Measured:
        snapshot = resolve()
        begin, busy = time.perf_counter(), read_processor()
        report = run_snapshot(spark, snapshot, time.time_ns() // 1_000_000, progress=lambda _: None)
        measured = Measured(time.perf_counter() - begin, read_processor() - busy)
        if report.error is not None:
            raise SystemExit(f"{report.error.code}: {report.error.message}")
        return measured

    found = take_turns(resolves, run, WARM_UP + rounds)
    spark.stop()
    return {kind: times[WARM_UP:] for kind, times in found.items()}


def run_command(folder: Path) -> Measured:
    """Run the command in a separate process, and count its JVM too."""
    # Java may outlive the command that has started it: it becomes ours, and is waited for.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", "run", "--catalog", "catalog", *ARGUMENTS]
    begin, busy = time.perf_counter(), _read_children()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    return Measured(seconds, _read_children() - busy)


def _read_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def take_turns(kinds: Mapping[str, T], run: Callable[[T], Measured], rounds: int) -> Mapping[str, list[Measured]]:
    """Measure each kind so many times; the order rotates, so that none is always first."""
    found: dict[str, list[Measured]] = {kind: [] for kind in kinds}
    for turn in range(rounds):
        shift = turn % len(kinds)
        for kind in [*kinds][shift:] + [*kinds][:shift]:
            measured = run(kinds[kind])
            found[kind].append(measured)
            print(f"{kind}: {measured.seconds:.2f} s, processors {measured.processor:.2f} s", flush=True)
    return found


def show(title: str, times: Mapping[str, list[Measured]]) -> None:
    """Print what each kind costs beyond none, as the median of rounds: other work disturbs single runs."""
    print(f"| {title} | seconds | cost | processor seconds | cost | limit |\n| --- | --- | --- | --- | --- | --- |")
    for kind, found in times.items():
        cells = []
        for name in ("seconds", "processor"):
            own = [getattr(one, name) for one in found]
            base = [getattr(one, name) for one in times["no checks"]]
            ratio = statistics.median(one / other for one, other in zip(own, base, strict=True))
            cells += [f"{statistics.median(own):.2f}", f"{(ratio - 1) * 100:.1f} %"]
        print(f"| {kind} | {' | '.join(cells)} | {LIMITS.get(kind, 0)} % |", flush=True)


if __name__ == "__main__":
    main()

"""Runs all implementations of a pipeline in turns, each in its own process, and checks that they agree."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REFERENCE = "pyspark_by_hand"
IMPLEMENTATIONS = {"close": (REFERENCE, "engine", "duckdb_by_hand"), "statements": (REFERENCE, "engine")}
TIME_LIMIT = 900
PAGE = os.sysconf("SC_PAGE_SIZE") / 2**20
Outcome = dict[str, Any]


def compare(pipeline: str, work: Path, sizes: Iterable[str], repeats: int) -> list[str]:
    """Return the lines of a table of medians and ratios; what does not agree is an error."""
    lines = [
        "| rows | implementation | start s | run s (min-max) | run ratio | whole s | whole ratio | peak MiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = IMPLEMENTATIONS[pipeline]
    for size in sizes:
        data = work / "data" / size
        subprocess.run([sys.executable, str(HERE / "data.py"), "--rows", size, "--out", str(data)], check=True)
        found: dict[str, list[Outcome]] = {name: [] for name in names}
        for _ in range(repeats):
            for name in names:
                found[name].append(run_once(pipeline, name, data, work / "out" / pipeline / name))
        check_agreement(size, found)
        lines += [describe(size, name, found) for name in names]
    return lines


def run_once(pipeline: str, name: str, data: Path, out: Path) -> Outcome:
    """Run one implementation in a process of its own and return what it printed, with its wall time and memory."""
    shutil.rmtree(out, ignore_errors=True)
    hand_written = HERE / pipeline / f"{name}.py"
    script = [str(hand_written)] if hand_written.exists() else [str(HERE / "engine.py"), "--pipeline", pipeline]
    begin = time.time()
    process = subprocess.Popen(
        [sys.executable, *script, "--data", str(data), "--out", str(out)],
        env={**os.environ, "BENCH_T0": repr(begin), "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = [0.0]
    watcher = threading.Thread(target=watch_memory, args=(process, peak), daemon=True)
    watcher.start()
    said, complaints = process.communicate(timeout=TIME_LIMIT)
    whole = time.time() - begin
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{complaints[-3000:]}")
    outcome: Outcome = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    print(f"{name}: {outcome['rows']} rows, start {outcome['startup_s']}, run {outcome['run_s']}", file=sys.stderr)
    return {**outcome, "whole_s": whole, "peak_mib": peak[0]}


def watch_memory(process: subprocess.Popen[str], peak: list[float]) -> None:
    """Keep the largest memory of a process and all below it."""
    while process.poll() is None:
        peak[0] = max(peak[0], measure_memory(process.pid))
        time.sleep(0.25)


def measure_memory(root: int) -> float:
    """Return the resident MiB of a process and all below it."""
    parents: dict[int, int] = {}
    sizes: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.parent.name)
        parents[number], sizes[number] = int(fields[1]), int(fields[21]) * PAGE
    family = {root}
    while more := {number for number, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(sizes.get(number, 0.0) for number in family)


def check_agreement(size: str, found: dict[str, list[Outcome]]) -> None:
    """Stop when rows or exact sums differ between any two runs."""
    results = {name: [pick_results(outcome) for outcome in outcomes] for name, outcomes in found.items()}
    expected = results[REFERENCE][0]
    for name, several in results.items():
        for one in several:
            if one != expected:
                raise SystemExit(f"{size}: {name} gives {one}, {REFERENCE} gives {expected}")


def pick_results(outcome: Outcome) -> dict[str, str]:
    """Return what must be equal: the rows and sums."""
    return {key: str(value) for key, value in outcome.items() if key.endswith("rows") or key.startswith("checksum")}


def describe(size: str, name: str, found: dict[str, list[Outcome]]) -> str:
    """Return an implementation's line of the table."""

    def median(of: str, key: str) -> float:
        return statistics.median(outcome[key] for outcome in found[of])

    runs = [outcome["run_s"] for outcome in found[name]]
    run, whole = median(name, "run_s"), median(name, "whole_s")
    return (
        f"| {size} | {name} | {median(name, 'startup_s'):.2f} | {run:.2f} ({min(runs):.2f}-{max(runs):.2f}) "
        f"| {run / median(REFERENCE, 'run_s'):.2f} | {whole:.2f} | {whole / median(REFERENCE, 'whole_s'):.2f} "
        f"| {median(name, 'peak_mib'):.0f} |"
    )

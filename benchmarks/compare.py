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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from data import write_data

HERE = Path(__file__).parent
REFERENCE = "pyspark_by_hand"
IMPLEMENTATIONS = {"close": (REFERENCE, "engine", "duckdb_by_hand"), "statements": (REFERENCE, "engine")}
TIME_LIMIT = 900
PAGE = os.sysconf("SC_PAGE_SIZE") / 2**20
TICK = os.sysconf("SC_CLK_TCK")
Outcome = dict[str, Any]


def compare(pipeline: str, work: Path, sizes: Iterable[str], repeats: int) -> list[str]:
    """Return the lines of a table of medians and ratios; what does not agree is an error."""
    lines = [
        "| rows | implementation | start s | run s (min-max) | run ratio | whole s | whole ratio "
        "| processor s | processor ratio | peak MiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = IMPLEMENTATIONS[pipeline]
    for size in sizes:
        data = work / "data" / size
        write_data(data, int(float(size)))
        found: dict[str, list[Outcome]] = {name: [] for name in names}
        for _ in range(repeats):
            for name in names:
                found[name].append(run_once(pipeline, name, data, work / "out" / pipeline / name))
        check_agreement(size, found)
        lines += [describe(size, name, found) for name in names]
    return lines


def run_once(pipeline: str, name: str, data: Path, out: Path, compiler: str = "chosen") -> Outcome:
    """Run one implementation in a process of its own and return what it printed, with its wall time and memory."""
    shutil.rmtree(out, ignore_errors=True)
    hand_written = HERE / pipeline / f"{name}.py"
    script = (
        [str(hand_written)]
        if hand_written.exists()
        else [str(HERE / "engine.py"), "--pipeline", pipeline, "--compiler", compiler]
    )
    begin = time.time()
    process = subprocess.Popen(
        [sys.executable, *script, "--data", str(data), "--out", str(out)],
        env={**os.environ, "BENCH_T0": repr(begin), "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with Family(process.pid) as family:
        said, complaints = process.communicate(timeout=TIME_LIMIT)
    whole = time.time() - begin
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{complaints[-3000:]}")
    outcome: Outcome = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    print(f"{name}: {outcome['rows']} rows, start {outcome['startup_s']}, run {outcome['run_s']}", file=sys.stderr)
    return {**outcome, "whole_s": whole, "processor_s": family.processor, "peak_mib": family.peak_mib}


class Family:
    """Looks at a process and all below it ten times a second: their largest memory, their time of the processor."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak_mib = pid, 0.0
        self.seconds: dict[int, float] = {}
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()

    @property
    def processor(self) -> float:
        """Seconds of the processor that all of them took, until the last look at each."""
        return sum(self.seconds.values())

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self._look()

    def _look(self) -> None:
        """Note what the processes have and took until now."""
        statistics_of = dict(read_processes())
        members = {self.pid}
        while more := {pid for pid, fields in statistics_of.items() if int(fields[1]) in members} - members:
            members |= more
        found = {pid: statistics_of[pid] for pid in members if pid in statistics_of}
        self.peak_mib = max(self.peak_mib, sum(int(fields[21]) * PAGE for fields in found.values()))
        for pid, fields in found.items():
            self.seconds[pid] = (int(fields[11]) + int(fields[12])) / TICK


def read_processes() -> Iterator[tuple[int, list[str]]]:
    """Yield the number of every process and what follows its name in its `stat`."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:
            continue


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

    def compared(key: str) -> str:
        return f"{median(name, key):.2f} | {median(name, key) / median(REFERENCE, key):.2f}"

    run = median(name, "run_s")
    return (
        f"| {size} | {name} | {median(name, 'startup_s'):.2f} | {run:.2f} ({min(runs):.2f}-{max(runs):.2f}) "
        f"| {run / median(REFERENCE, 'run_s'):.2f} | {compared('whole_s')} | {compared('processor_s')} "
        f"| {median(name, 'peak_mib'):.0f} |"
    )

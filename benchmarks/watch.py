"""How long `airflow-runtime test --watch` takes: to its first result, and from a saved file to the next result.

Run it with `bash scripts/with_java .venv/bin/python benchmarks/watch.py`. It starts the command in the sample project,
and saves the scenario and the project with a change in each round.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import Measured, call

ROUNDS = 8
COMMAND = [sys.executable, "-m", "airflow_provider_runtime.cli.main"]
DIGITS = re.compile(r"fx\.rate, \d\)")


def wait_for_result(process: subprocess.Popen[str]) -> None:
    """Read what the command prints until it waits for a file."""
    assert process.stdout is not None
    for line in process.stdout:
        if "waiting for a file" in line:
            return
    raise RuntimeError("the command has ended")


def measure(folder: Path) -> list[Measured]:
    """Start the command and save files."""
    call(*COMMAND, "init", "books", folder=folder)
    books = folder / "books"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    start = time.perf_counter()
    with subprocess.Popen(
        [*COMMAND, "test", "scenarios", "--watch"], cwd=books, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for_result(process)
            first = time.perf_counter() - start
            times = {name: save_again_and_again(books / name, process) for name in ("scenarios", "catalog")}
        finally:
            process.terminate()
    return [
        Measured("test --watch: from the command to its first result", first),
        Measured("a scenario that is saved, to its result", statistics.median(times["scenarios"]), 1.0),
        Measured(
            "a project that is saved with another expression, to its result", statistics.median(times["catalog"]), 1.0
        ),
    ]


def save_again_and_again(folder: Path, process: subprocess.Popen[str]) -> list[float]:
    """Save the project or its scenario with a change, and return how long each result takes; the first do not count."""
    path = folder / "fx_conversion.yaml"
    times = []
    for number in range(ROUNDS + 2):
        text = path.read_text(encoding="utf-8")
        changed = DIGITS.sub(f"fx.rate, {2 + number % 3})", text) if folder.name == "catalog" else text
        time.sleep(0.5)
        start = time.perf_counter()
        path.write_text(changed + f"# {number}\n", encoding="utf-8")
        wait_for_result(process)
        times.append(time.perf_counter() - start)
    return times[2:]


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        for measured in measure(Path(folder)):
            print(measured)


if __name__ == "__main__":
    main()

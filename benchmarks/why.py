"""How long `airflow-runtime why` takes for one row of the close pipeline, beside the run itself.

    python benchmarks/why.py [--work FOLDER] [--sizes 1e6 1e7]

Every command runs in its own process, and its start counts. It prints the lines of a table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SPARK = ("--master", "local[2]", "--conf", "spark.driver.memory=8g")
PERIOD = ("--project", "close", "--period", "2026-01")
TITLES = ("| rows | run s | the row is asked for by | why s | why ÷ run |", "| --- | --- | --- | --- | --- |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, default=HERE.parent / ".cache" / "bench", help="folder of the data")
    parser.add_argument("--sizes", nargs="+", default=["1e6"], help="rows of the ledger")
    options = parser.parse_args()
    print("\n".join(TITLES))
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(options.work / "data" / size, size, Path(folder))


def measure(data: Path, size: str, folder: Path) -> None:
    """Run the pipeline once, and ask for rows in several ways."""
    subprocess.run([sys.executable, str(HERE / "data.py"), "--rows", size, "--out", str(data)], check=True)
    text = (HERE / "close" / "catalog.yaml").read_text(encoding="utf-8")
    (folder / "catalog").mkdir()
    text = text.replace("@DATA@", str(data.resolve())).replace("@OUT@", str(folder / "out"))
    (folder / "catalog" / "close.yaml").write_text(text, encoding="utf-8")
    run, _ = time_command(folder, "run", *PERIOD, *SPARK)
    known, loaded = ask(folder, "--where", '_operation_seq = 0 AND currency = "USD"', "--limit", "1")
    journal = get_value(loaded, "journal_id")
    line = get_value(loaded, "line_number")
    by_key = ask(folder, "--where", f'journal_id = "{journal}" AND line_number = {line}')[0]
    by_id = ask(folder, "--row-id", loaded["row_id"])[0]
    by_group, total = ask(folder, "--where", '_operation_seq = 8 AND currency = "USD"')
    by_group_id = ask(folder, "--row-id", total["row_id"])[0]
    times = {
        "its journal and line": by_key,
        "its _row_id": by_id,
        "a condition that many rows meet": known,
        "the key of a total": by_group,
        "the _row_id of a total": by_group_id,
    }
    for what, seconds in times.items():
        print(f"| {size} | {run:.1f} | {what} | {seconds:.1f} | {seconds / run:.2f} |", flush=True)
    shutil.rmtree(folder / "out")


def ask(folder: Path, *question: str) -> tuple[float, dict[str, Any]]:
    """Return how long an answer takes, and its first row, which must be the published one."""
    seconds, said = time_command(folder, "why", *PERIOD, *question, *SPARK, "--format", "json")
    row: dict[str, Any] = json.loads(said)["rows"][0]
    assert all(output["equal"] for output in row["outputs"] if output["selected"])
    assert any(output["selected"] for output in row["outputs"])
    return seconds, row


def get_value(row: dict[str, Any], column: str) -> str:
    """Return a value with which a row was made."""
    return str(next(change["after"] for change in row["steps"][0]["changes"] if change["column"] == column))


def time_command(folder: Path, *arguments: str) -> tuple[float, str]:
    """Return how long a command takes, and what it prints."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", *arguments]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return seconds, done.stdout


if __name__ == "__main__":
    main()

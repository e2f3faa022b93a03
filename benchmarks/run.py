"""`make bench`: all measurements, written to benchmarks/RESULTS.md.

make bench                                    sizes 1e5 and 1e6, three repeats
make bench BENCH="--sizes 1e5 1e6 1e7"        large as well
make bench BENCH="--only close --repeats 5"   one part
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from compare import compare

HERE = Path(__file__).parent
PARTS = ("close", "statements", "growth", "planning", "tables", "why", "commands")
TABLES_TEXT = (
    "Milliseconds of the processor, median; in brackets the shortest of the clock. A file a period, catalog on SQLite, "
    "local disk."
)
COMMANDS = ("definitions.py", "plans.py", "diffs.py", "commands.py", "airflow_runs.py")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1e5", "1e6"], help="rows of the ledger")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--growth-size", default="1e6", help="rows for the growth curves")
    parser.add_argument("--quick", action="store_true", help="few and small, to see that it works")
    parser.add_argument("--work", type=Path, default=HERE.parent / ".cache" / "bench", help="folder of the data")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    parts = read_parts(options.results)
    if "close" in options.only:
        parts["The close pipeline"] = [CLOSE_TEXT, "", *compare("close", options.work, options.sizes, options.repeats)]
    if "statements" in options.only:
        found = compare("statements", options.work, options.sizes, options.repeats)
        parts["The statements pipeline"] = [STATEMENTS_TEXT, "", *found]
    if "growth" in options.only:
        text = f"In one warm session, {options.growth_size} rows, best of three; periods in processes of their own."
        parts["Growth"] = [text, "", *measure_growth(options.work, options.growth_size, quick=options.quick)]
    if "planning" in options.only:
        text = "From a snapshot to Spark's plan, with a thousand rows, best of five in one session."
        parts["Planning"] = [text, "", *run_script("planning.py", *(["--quick"] if options.quick else []))]
    if "tables" in options.only:
        few = ["--periods", "3", "--rounds", "2"] if options.quick else []
        parts["Iceberg and Delta"] = [TABLES_TEXT, "", *run_script("tables.py", *few)]
    if "why" in options.only:
        found = run_script("why.py", "--work", str(options.work), "--sizes", *options.sizes)
        parts["Why"] = [WHY_TEXT, "", *found]
    if "commands" in options.only:
        parts["Commands"] = ["```", *(line for name in COMMANDS for line in run_script(name)), "```"]
    page = "\n".join([*describe_machine(), "", *(line for name, lines in parts.items() for line in show(name, lines))])
    options.results.write_text(page, encoding="utf-8")
    print(page)


def read_parts(page: Path) -> dict[str, list[str]]:
    """Return the parts of the page that is there, so that those which are not measured now stay."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    found = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {name: lines.strip().splitlines() for name, _, lines in found}


def show(name: str, lines: list[str]) -> list[str]:
    """Return a part with its heading."""
    return [f"## {name}", "", *lines, ""]


CLOSE_TEXT = """\
FX conversion, joins, delete, two outputs, two aggregates and an append, on Parquet. Every implementation in a process
of its own, in turns; medians. Row counts and exact sums of all runs were equal. `start` ends when the session exists,
`run` when the outputs are there; ratios are to PySpark by hand, which does not publish atomically, counts no rows, and
does not look for duplicate matches."""

WHY_TEXT = """\
One row of the close pipeline, asked for with `airflow-runtime why`, beside the command that ran the pipeline; each in
its own process, and its start counts. The total is one of four rows in ten."""

STATEMENTS_TEXT = """\
50 operations: eight joins (bitemporal rates, an OR of two codes, a range), 30 updates by selector, two deletes, three
aggregates, an append, four outputs; measured in the same way. The script by hand folds the updates into three
projections, and makes an equality of the OR."""


def describe_machine() -> list[str]:
    """Return the page's head: when and on what."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "duckdb"))
    day = datetime.now(UTC).date().isoformat()
    return [
        "# Measurements",
        "",
        f"Written by `make bench` on {day}: {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}. Compare ratios, not seconds.",
    ]


def measure_growth(work: Path, size: str, *, quick: bool) -> list[str]:
    """Return the table of the growth curves."""
    data = work / "data" / size
    subprocess.run([sys.executable, str(HERE / "data.py"), "--rows", size, "--out", str(data)], check=True)
    return run_script("growth.py", "--data", str(data), *(["--quick"] if quick else []))


def run_script(name: str, *arguments: str) -> list[str]:
    """Return the lines that one of the scripts prints."""
    print(f"{name} …", file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, str(HERE / name), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()


if __name__ == "__main__":
    main()

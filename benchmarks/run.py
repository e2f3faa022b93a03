"""`make bench`: all measurements, written to benchmarks/RESULTS.md.

make bench                                    sizes 1e5 and 1e6, three repeats
make bench BENCH="--sizes 1e5 1e6 1e7"        large as well
make bench BENCH="--only close --repeats 5"   one part
make bench BENCH="--only cluster --sizes 1e7 1e8"   a cluster
make bench BENCH="--only limits"              many columns and files; these two take long and must be named
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from compare import compare
from data import write_data

HERE = Path(__file__).parent
RARE = ("cluster", "limits")
COMMANDS = ("definitions.py", "plans.py", "diffs.py", "commands.py", "watch.py", "airflow_runs.py")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1e5", "1e6"], help="rows of the ledger")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=[name for name in PARTS if name not in RARE])
    parser.add_argument("--growth-size", default="1e6", help="rows for growth and checks")
    parser.add_argument("--quick", action="store_true", help="few and small, to see that it works")
    parser.add_argument("--work", type=Path, default=HERE.parent / ".cache" / "bench", help="folder of the data")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    parts = read_parts(options.results)
    for name in options.only:
        heading, text, measure = PARTS[name]
        day = datetime.now(UTC).date().isoformat()
        parts[heading] = [f"Measured on {day}.", "", *text.splitlines(), "", *measure(options)]
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


def describe_machine() -> list[str]:
    """Return the page's head: on what."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "duckdb"))
    return [
        "# Measurements",
        "",
        f"Written by `make bench`: {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}. Compare ratios, not seconds.",
    ]


def compare_pipeline(pipeline: str, options: argparse.Namespace) -> list[str]:
    """Return the table of a pipeline's implementations."""
    return compare(pipeline, options.work, options.sizes, options.repeats)


def measure_growth(options: argparse.Namespace) -> list[str]:
    """Return the table of the growth curves."""
    data = make_data(options)
    return [f"With {data.name} rows.", "", *run_script("growth.py", "--data", str(data), *choose(options, "--quick"))]


def measure_checks(options: argparse.Namespace) -> list[str]:
    """Return the lines on what checks cost."""
    few = choose(options, "--rounds", "1")
    return ["```", *run_script("checks.py", "--data", str(make_data(options)), *few), "```"]


def make_data(options: argparse.Namespace) -> Path:
    """Return the folder with the data of the size that most parts take."""
    data: Path = options.work / "data" / options.growth_size
    write_data(data, int(float(options.growth_size)))
    return data


def choose(options: argparse.Namespace, *few: str) -> tuple[str, ...]:
    """Return what makes a script's measurement a small one, if that is asked for."""
    return few if options.quick else ()


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


PARTS: dict[str, tuple[str, str, Callable[[argparse.Namespace], list[str]]]] = {
    "close": (
        "The close pipeline",
        """\
FX conversion, joins, delete, two outputs, two aggregates and an append, on Parquet. Every implementation in a process
of its own, in turns; medians. Row counts and exact sums of all runs were equal. `start` ends when the session exists,
`run` when the outputs are there; `processor` is that of all its processes, which neighbours on the machine change
least. Ratios are to PySpark by hand, which does not publish atomically, counts no rows, and does not look for
duplicate matches.""",
        lambda options: compare_pipeline("close", options),
    ),
    "statements": (
        "The statements pipeline",
        """\
50 operations: eight joins (bitemporal rates, an OR of two codes, a range), 30 updates by selector, two deletes, three
aggregates, an append, four outputs; measured in the same way. The script by hand folds the updates into three
projections, and makes an equality of the OR.""",
        lambda options: compare_pipeline("statements", options),
    ),
    "growth": (
        "Growth",
        "In one warm session, best of three; periods in processes of their own.",
        measure_growth,
    ),
    "warm": (
        "Warm runs",
        """\
Milliseconds in one warm session, from a resolved snapshot to published files, without the first ten rounds; beside them
what an engine in memory takes for the same, which writes nothing.""",
        lambda options: run_script("warm.py", "--work", str(options.work), *choose(options, "--rounds", "2")),
    ),
    "small": (
        "Small runs",
        """\
The close pipeline with Java's quick compiler alone, and with both. A run whose files are below the limit gets the quick
one.""",
        lambda options: run_script(
            "small_runs.py", "--work", str(options.work), *choose(options, "--sizes", "1e3", "--repeats", "1")
        ),
    ),
    "limits": (
        "Limits",
        "One project on columns that are each added to and summed, and on files of ten rows; the driver has 1 GiB.",
        lambda options: run_script("limits.py", *choose(options, "--quick")),
    ),
    "checks": ("Checks", "On the close pipeline.", measure_checks),
    "groups": (
        "Group functions",
        "An update with group functions beside PySpark's window functions by hand.",
        lambda options: run_script("groups.py", *choose(options, "--rows", "2e3", "--rounds", "1")),
    ),
    "cluster": (
        "Two workers",
        """\
The close pipeline with the command `run` on a standalone cluster of one machine: two executors of one core and 3 GiB, a
driver with a heap of 1 GiB. Sums were equal to DuckDB's.""",
        lambda options: run_script("cluster.py", "--work", str(options.work), "--sizes", *options.sizes),
    ),
    "planning": (
        "Planning",
        "From a snapshot to Spark's plan, with a thousand rows, best of five in one session.",
        lambda options: run_script("planning.py", *choose(options, "--quick")),
    ),
    "tables": (
        "Iceberg and Delta",
        """\
Milliseconds of the processor, median; in brackets the shortest of the clock. A file a period, catalog on SQLite, local
disk.""",
        lambda options: run_script("tables.py", *choose(options, "--periods", "3", "--rounds", "2")),
    ),
    "why": (
        "Why",
        """\
One row of the close pipeline, asked for with `airflow-runtime why`, beside the command that ran the pipeline; each in
its own process, and its start counts. The total is one of four rows in ten.""",
        lambda options: run_script("why.py", "--work", str(options.work), "--sizes", *options.sizes),
    ),
    "board": (
        "The board",
        "What the page asks for, of a server without other work.",
        lambda options: ["```", *run_script("board.py", *choose(options, "--quick")), "```"],
    ),
    "commands": (
        "Commands",
        "Seconds of the clock, beside what they should stay below.",
        lambda _: ["```", *(line for name in COMMANDS for line in run_script(name)), "```"],
    ),
}

if __name__ == "__main__":
    main()

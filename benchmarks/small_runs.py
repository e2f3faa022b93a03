"""Up to which size a run is quicker when Java compiles with its quick compiler only: where SMALL_BYTES comes from.

    python benchmarks/small_runs.py [--sizes 1e4 1e5 3e5 1e6] [--repeats 3] [--work FOLDER]

The close pipeline, once with the quick compiler alone and once with both, in turns. It prints the lines of a table;
seconds are those of the whole process, and of the processor.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from compare import Outcome, run_once
from data import write_data

from airflow_provider_runtime.core.runs.small_runs import SMALL_BYTES

COMPILERS = ("both", "quick")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1e4", "1e5", "3e5", "1e6"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path(__file__).parent.parent / ".cache" / "bench")
    options = parser.parse_args()
    print(f"| rows | MiB (limit {SMALL_BYTES >> 20}) | s: both, quick | ratio | processor s: both, quick | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in options.sizes:
        data = options.work.resolve() / "data" / size
        write_data(data, int(float(size)))
        found: dict[str, list[Outcome]] = {name: [] for name in COMPILERS}
        for _ in range(options.repeats):
            for name, outcomes in found.items():
                outcomes.append(run_once("close", "engine", data, options.work.resolve() / "out" / name, name))
        read = sum(path.stat().st_size for path in data.rglob("*.parquet")) / 2**20
        print(f"| {size} | {read:.1f} | {compare(found, 'whole_s')} | {compare(found, 'processor_s')} |", flush=True)


def compare(found: dict[str, list[Outcome]], key: str) -> str:
    """Return the medians of both compilers and their ratio."""
    both, quick = (statistics.median(outcome[key] for outcome in found[name]) for name in COMPILERS)
    return f"{both:.1f}, {quick:.1f} | {quick / both:.2f}"


if __name__ == "__main__":
    main()

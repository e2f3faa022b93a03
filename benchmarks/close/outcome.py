"""What every implementation of the close pipeline prints: its times, and rows and exact sums of what it wrote."""

from __future__ import annotations

import argparse
import json
import os
import time
from decimal import Decimal
from pathlib import Path

STARTED = float(os.environ.get("BENCH_T0") or time.time())
"""When the process was started; who starts it sets BENCH_T0."""
SUMS = ("total_reporting", "total_local", "line_count", "amount_reporting")


def read_options() -> argparse.Namespace:
    """Return the folders of the data and of the outputs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.data, options.out = options.data.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def print_outcome(name: str, options: argparse.Namespace, started: float, finished: float, **more: object) -> None:
    """Print one line of JSON; reading the outputs back is not in the times."""
    times = {"startup_s": round(started - STARTED, 3), "run_s": round(finished - started, 3)}
    print(json.dumps({"impl": name, **describe(options), **times, **more}), flush=True)


def describe(options: argparse.Namespace) -> dict[str, object]:
    """Read rows and exact sums back from the files."""
    import pyarrow.compute
    import pyarrow.dataset

    def open_files(folder: Path) -> pyarrow.dataset.Dataset:
        return pyarrow.dataset.dataset(folder, format="parquet")

    table = open_files(options.out / "out_b").to_table(columns=list(SUMS))
    sums = {f"checksum_{name}": str(pyarrow.compute.sum(table[name]).as_py() or Decimal(0)) for name in SUMS}
    return {
        "rows": open_files(options.data / "transactions").count_rows(),
        "out_a_rows": open_files(options.out / "out_a").count_rows(),
        "out_b_rows": table.num_rows,
        **sums,
    }

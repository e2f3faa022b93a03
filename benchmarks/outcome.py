"""What every implementation of a pipeline prints: its times, and rows and exact sums of what it wrote."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

STARTED = float(os.environ.get("BENCH_T0") or time.time())
"""When the process was started; who starts it sets BENCH_T0."""
Sums = Mapping[str, Sequence[str]]
SUMS: Mapping[str, Sums] = {
    "close": {"out_a": (), "out_b": ("total_reporting", "total_local", "line_count", "amount_reporting")},
    "statements": {
        "lines": ("amount_usd", "amount_average", "amount_eur", "measure", "fee", "quota", "net", "tax"),
        "review": ("measure",),
        "statement": ("total_net", "total_tax", "line_count"),
        "segments": ("total_quota", "line_count"),
    },
}
"""By pipeline and output, the columns whose sums must be equal."""


def read_options(*more: str) -> argparse.Namespace:
    """Return the folders of the data and of the outputs, and what else is asked for."""
    parser = argparse.ArgumentParser()
    for name in more:
        parser.add_argument(name, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.data, options.out = options.data.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def print_outcome(
    name: str, options: argparse.Namespace, started: float, finished: float, sums: Sums, **more: object
) -> None:
    """Print one line of JSON; reading the outputs back is not in the times."""
    times = {"startup_s": round(started - STARTED, 3), "run_s": round(finished - started, 3)}
    print(json.dumps({"impl": name, **describe(options, sums), **times, **more}), flush=True)


def describe(options: argparse.Namespace, sums: Sums) -> dict[str, object]:
    """Read rows and exact sums back from the files."""
    import pyarrow.compute
    import pyarrow.dataset

    def open_files(folder: Path) -> pyarrow.dataset.Dataset:
        return pyarrow.dataset.dataset(folder, format="parquet")

    found: dict[str, object] = {"rows": open_files(options.data / "transactions").count_rows()}
    for output, columns in sums.items():
        written = open_files(options.out / output)
        found[f"{output}_rows"] = written.count_rows()
        table = written.to_table(columns=list(columns))
        for column in columns:
            total = pyarrow.compute.sum(table[column]).as_py()
            found[f"checksum_{output}_{column}"] = str(Decimal(total or 0).normalize())
    return found

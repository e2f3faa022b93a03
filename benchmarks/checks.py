"""What checks cost: the close pipeline without checks, with four, and with five, taking turns in one warm session.

    python benchmarks/checks.py --data FOLDER [--rounds N]

FOLDER is one that data.py wrote. The fifth check is `unique` on a key that no aggregate has grouped by.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

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


def load(data: Path, folder: Path, checks: tuple[str, ...]) -> Callable[[], Snapshot]:
    """Return what resolves the close with these checks."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

    folder.mkdir(parents=True)
    text = CLOSE.read_text(encoding="utf-8").replace("@DATA@", str(data)).replace("@OUT@", str(folder / "out"))
    listed = "".join(f"\n    - {check}" for check in checks)
    (folder / "catalog.yaml").write_text(text.rstrip() + (f"\n  checks:{listed}\n" if checks else "\n"), "utf-8")
    loaded = load_catalog(folder)
    return lambda: build_snapshot(loaded, "close", "2026-01")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    from airflow_provider_runtime.cli.local_spark import start_spark
    from spark_jobs.job import run_snapshot

    with tempfile.TemporaryDirectory() as name:
        spark = start_spark("local[2]", {"spark.driver.memory": "4g"})
        kinds = {"no checks": (), "four checks": OTHERS, "five checks": (*OTHERS, UNIQUE)}
        resolves = {
            kind: load(options.data.resolve(), Path(name, str(index)), checks)
            for index, (kind, checks) in enumerate(kinds.items())
        }
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        # The first rounds warm Spark up. The order rotates, so that none is always first.
        for turn in range(WARM_UP + options.rounds):
            for kind in [*kinds][turn % len(kinds) :] + [*kinds][: turn % len(kinds)]:
                snapshot = resolves[kind]()
                begin = time.perf_counter()
                report = run_snapshot(spark, snapshot, time.time_ns() // 1000, progress=lambda _: None)
                seconds = time.perf_counter() - begin
                if report.error is not None:
                    raise SystemExit(f"{report.error.code}: {report.error.message}")
                if turn >= WARM_UP:
                    times[kind].append(seconds)
                    print(f"{kind}: {seconds:.2f} s, checks {report.timings.get('check_seconds', 0)} s", flush=True)
        spark.stop()
        for index in range(len(kinds)):
            shutil.rmtree(Path(name, str(index)), ignore_errors=True)
    show(times)


def show(times: dict[str, list[float]]) -> None:
    """Print what each kind costs beyond none, round by round and best against best: other work disturbs single runs."""
    base = times["no checks"]
    print("| | median | cost, median of rounds | cost, best of all | limit |\n| --- | --- | --- | --- | --- |")
    for kind, found in times.items():
        ratio = statistics.median(one / other for one, other in zip(found, base, strict=True))
        cells = (f"{statistics.median(found):.2f} s", f"{(ratio - 1) * 100:.1f} %")
        best = f"{(min(found) / min(base) - 1) * 100:.1f} %"
        print(f"| {kind} | {' | '.join(cells)} | {best} | {LIMITS.get(kind, 0)} % |")


if __name__ == "__main__":
    main()

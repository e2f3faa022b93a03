"""Times of whole commands: a small run beside a bare spark-submit, resolving, and twelve registrations at once.

Run it with `bash scripts/with_java .venv/bin/python benchmarks/commands.py`; it prints one line a measurement, with the
target. Whatever is compared is run in turns, and the median counts.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 4
WRITERS = 12


@dataclass(frozen=True)
class Measured:
    """A time, and what it may be at most."""

    what: str
    seconds: float
    target: float | None = None

    def __str__(self) -> str:
        """Return one line."""
        target = "" if self.target is None else f"   (target {self.target} s)"
        return f"{self.what:62} {self.seconds:6.2f} s{target}"


def time_in_turns(actions: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median of each action's times, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def call(*arguments: str, folder: Path) -> None:
    """Run a command quietly; a failure shows what it said."""
    programs = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PATH": programs}
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def measure_small_run(folder: Path) -> list[Measured]:
    """Run the FX close through the command, and by a bare spark-submit of a script on the same files."""
    for name in ("catalog", "data"):
        shutil.copytree(ROOT / "dags_examples" / name, folder / name)
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main"]
    run = [*command, "run", "--project", "fx-close", "--period", "2026-01", "--master", "local[2]"]
    submit = Path(sys.executable).with_name("spark-submit")
    script = str(ROOT / "benchmarks" / "bare_close.py")
    bare = [str(submit), "--master", "local[2]", script, str(folder / "data" / "fx_close"), str(folder / "bare")]
    resolve = [*command, "resolve", "--project", "fx-close", "--period", "2026-01", "--output", "snapshot.json"]
    found = time_in_turns(
        {
            "run": lambda: call(*run, folder=folder),
            "bare": lambda: call(*bare, "2026-01", folder=folder),
            "resolve": lambda: call(*resolve, folder=folder),
        }
    )
    return [
        Measured("airflow-runtime run of the FX close", found["run"]),
        Measured("bare spark-submit on the same files", found["bare"]),
        Measured("  the difference", found["run"] - found["bare"], 2.0),
        Measured("airflow-runtime resolve of the FX close", found["resolve"], 1.0),
    ]


def measure_resolve(folder: Path) -> list[Measured]:
    """Resolve a project of 20 operations and 10 datasets, in a catalog of 50 and of 1,000 datasets."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

    measured = []
    for datasets, target in ((50, 1.0), (1_000, 2.5)):
        catalog = folder / f"catalog-{datasets}"
        catalog.mkdir()
        write_large_catalog(catalog, datasets)
        arguments = ("resolve", "--catalog", str(catalog), "--project", "p", "--period", "2026-01")
        command = (sys.executable, "-m", "airflow_provider_runtime.cli.main", *arguments)
        found = time_in_turns({"": lambda command=command: call(*command, folder=folder)})  # type: ignore[misc]
        measured.append(Measured(f"resolve 20 operations in a catalog of {datasets} datasets", found[""], target))
    loaded = load_catalog(catalog, project="p")
    warm = time_in_turns({"": lambda: build_snapshot(loaded, "p", "2026-01")}, rounds=10)
    return [*measured, Measured("  the same as a warm call", warm[""], 0.15)]


def write_large_catalog(folder: Path, datasets: int) -> None:
    """Write datasets of twenty columns, and a project that reads ten of them in twenty operations."""
    columns = "".join(f"      - {{name: c{n}, type: {'decimal' if n % 2 else 'string'}}}\n" for n in range(20))
    for number in range(datasets):
        (folder / f"dataset_{number}.yaml").write_text(
            f"dataset:\n  id: ds-{number}\n  name: Dataset {number}\n  version: 1\n  main_table:\n"
            f"    name: t\n    temporal_mode: period\n    columns:\n{columns}"
        )
    (folder / "places.yaml").write_text(
        "datasource: {id: lake, type: parquet, path_prefix: lake}\n---\n"
        "resolver:\n  id: r\n  version: 1\n  is_default: true\n"
        '  rules: [{name: all, strategy: {type: path, datasource_id: lake, path: "{{dataset_id}}/{{identifier}}"}}]\n'
    )
    operations = "".join(
        f"    - {{seq: {n + 1}, name: step {n}, type: update, selector: 'c0 = \"x\"', arguments: {write_join(n)}}}\n"
        for n in range(19)
    )
    output = "    - {seq: 99, name: write, type: output, arguments: {destination: {datasource_id: lake, path: out}}}\n"
    (folder / "project.yaml").write_text(
        f"project:\n  id: p\n  name: p\n  version: 1\n  input_dataset_id: ds-0\n  operations:\n{operations}{output}"
    )


def write_join(number: int) -> str:
    """Return the arguments of an update with one join and one assignment."""
    join = f"{{alias: j, dataset_id: ds-{number % 9 + 1}, on: 't.c0 = j.c0'}}"
    return f"{{joins: [{join}], assignments: [{{column: n{number}, expression: 'c1 * j.c3'}}]}}"


def register(url: str, number: int, start: Any) -> None:
    """Begin and finish one period's attempt, registering a slice; in a process of its own."""
    from airflow_provider_runtime.core.registry.ports import RunStart, SliceWrite
    from airflow_provider_runtime.core.registry.sql import open_registry

    registry = open_registry(url)
    period = f"2026-{number + 1:02}"
    run = RunStart(f"{number:064x}", f"run-{number}", "p", "p", 1, "gregorian", period, "month")
    definition = {"id": "ds", "name": "DS", "main_table": {"name": "DS", "columns": [{"name": "a", "type": "string"}]}}
    start.wait()
    attempt = registry.begin_attempt(run, holder=f"bench/{number}/1", lease_seconds=90)
    registry.finish_attempt(attempt, [SliceWrite(1, "ds", "DS", period, f"file:/s/{number}", 1, definition)], {})


def measure_registrations(name: str, url: str) -> Measured:
    """Register twelve periods of one dataset from twelve processes that start together."""
    from airflow_provider_runtime.core.registry.sql import open_registry

    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(WRITERS + 1)
    processes = [context.Process(target=register, args=(url, number, barrier)) for number in range(WRITERS)]
    for process in processes:
        process.start()
    barrier.wait()
    begin = time.perf_counter()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - begin
    version = open_registry(url).find_version("DS")
    if version is None or len(version.slices) != WRITERS:
        raise RuntimeError(f"{name}: slices were lost")
    return Measured(f"{WRITERS} registrations at once, {name}", seconds, 10.0)


def main() -> None:
    """Measure and print."""
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (measure_small_run, measure_resolve):
            for measured in part(folder):
                print(measured, flush=True)
        print(measure_registrations("SQLite", f"sqlite:///{folder}/registry.db"), flush=True)
        with suppress(ImportError):
            from tests.integration.postgres import start_postgres

            with start_postgres() as server:
                print(measure_registrations("PostgreSQL", server.make_database()), flush=True)


if __name__ == "__main__":
    main()

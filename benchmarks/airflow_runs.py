"""Times inside Airflow: a small run beside a bare SparkSubmitOperator, parsing of DAG files, sizes of XComs.

Run it with `bash scripts/with_java .venv/bin/python benchmarks/airflow_runs.py`. Both DAGs run in turns in one
`airflow standalone`; the median of the runs' durations counts.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.integration.airflow.standalone import Standalone

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 4
PROJECTS = 200
BARE_DAG = """
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

with DAG("bare", schedule=None, max_active_runs=1):
    SparkSubmitOperator(task_id="run", application={script!r}, application_args=[{data!r}, {out!r}, "2026-01"])
"""
OUR_DAG = """
from airflow_provider_runtime.dag_factory import project_dag

dag = project_dag("fx-close", "catalog", dag_id="ours", schedule=None, deadline=None)
"""
MANY_DAGS = """
import time
import airflow.sdk
import airflow.serialization.serialized_objects
begin = time.perf_counter()
from airflow_provider_runtime.dag_factory import project_dags
first = len(project_dags({catalog!r}))
cold = time.perf_counter() - begin
begin = time.perf_counter()
project_dags({catalog!r})
print(first, cold, time.perf_counter() - begin)
"""


def say(what: str, value: float, target: float | None = None, unit: str = "s") -> None:
    """Print one line."""
    shown = "" if target is None else f"   (target {target} {unit})"
    print(f"{what:62} {value:6.2f} {unit}{shown}", flush=True)


def make_folder(folder: Path) -> Path:
    """Write both DAG files, beside a copy of the examples' catalog and data."""
    dags = folder / "dags"
    for name in ("catalog", "data"):
        shutil.copytree(ROOT / "dags_examples" / name, dags / name)
    bare = BARE_DAG.format(
        script=str(ROOT / "benchmarks" / "bare_close.py"),
        data=str(dags / "data" / "fx_close"),
        out=str(folder / "bare"),
    )
    (dags / "bare.py").write_text(bare)
    (dags / "ours.py").write_text(OUR_DAG)
    return dags


def run_once(airflow: Standalone, dag_id: str, **trigger: Any) -> tuple[float, dict[str, float]]:
    """Trigger a DAG, and return the seconds from its start to its end, in all and by task."""
    run_id = airflow.trigger(dag_id, **trigger)
    state = airflow.wait_for_run(dag_id, run_id)
    if state != "success":
        raise RuntimeError(f"{dag_id} ended with {state}: {airflow.list_tasks(dag_id, run_id)}")
    run = next(found for found in airflow.list_runs(dag_id) if found["dag_run_id"] == run_id)
    tasks = airflow.list_tasks(dag_id, run_id)
    return measure(run), {name: round(task["duration"], 2) for name, task in tasks.items()}


def measure(run: dict[str, Any]) -> float:
    """Return the seconds between a run's start and its end."""
    start, end = (datetime.fromisoformat(run[key].replace("Z", "+00:00")) for key in ("start_date", "end_date"))
    return (end - start).total_seconds()


def measure_runs(airflow: Standalone) -> None:
    """Run both DAGs in turns."""
    for dag_id in ("ours", "bare"):
        airflow.wait_for_dag(dag_id)
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for turn in range(ROUNDS + 1):
        for dag_id, trigger in (("ours", {"conf": {"period": "2026-01"}}), ("bare", {})):
            seconds, tasks = run_once(airflow, dag_id, **trigger)
            print(f"  {dag_id}: {seconds:.2f} s {tasks}", file=sys.stderr, flush=True)
            if turn:
                times[dag_id].append(seconds)
    ours, bare = (statistics.median(times[dag_id]) for dag_id in ("ours", "bare"))
    say("resolve and run of the FX close in Airflow", ours)
    say("the same with a bare SparkSubmitOperator", bare)
    say("  the difference", ours - bare, 3.0)


def measure_xcoms(airflow: Standalone) -> None:
    """Print how large the answers of both tasks are."""
    run_id = airflow.list_runs("ours")[-1]["dag_run_id"]
    for task_id in airflow.list_tasks("ours", run_id):
        path = f"/dags/ours/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value?stringify=false"
        say(f"XCom of {task_id}", len(json.dumps(airflow.api("GET", path)["value"])) / 1024, 16.0, "KB")


def measure_parsing(folder: Path) -> None:
    """Time the making of one DAG for each of 200 projects, Airflow's own import apart."""
    from benchmarks.definitions import write_catalog

    catalog = folder / "many"
    catalog.mkdir()
    write_catalog(catalog, 20, PROJECTS)
    program = MANY_DAGS.format(catalog=str(catalog))
    found = [_run_program(program, folder) for _ in range(3)]
    say(f"DAGs of {PROJECTS} projects, cold", min(cold for _, cold, _ in found), 2.0)
    say(f"DAGs of {PROJECTS} projects, again in the same process", min(warm for *_, warm in found), 0.2)


def _run_program(program: str, folder: Path) -> list[float]:
    environment = {"AIRFLOW_HOME": str(folder / "parsing"), "PATH": str(Path(sys.executable).parent)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    return [float(word) for word in done.stdout.split()[-3:]]


def main() -> None:
    """Measure and print."""
    sys.path[0] = str(ROOT)
    from tests.integration.airflow.standalone import Standalone

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_parsing(folder)
        airflow = Standalone(home=folder / "home", dags=make_folder(folder))
        try:
            airflow.start()
            begin = time.monotonic()
            measure_runs(airflow)
            measure_xcoms(airflow)
            print(f"  measured in {time.monotonic() - begin:.0f} s", file=sys.stderr)
        finally:
            airflow.stop()


if __name__ == "__main__":
    main()

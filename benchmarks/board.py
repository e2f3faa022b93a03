"""How long the board's routes take, with 1e5 runs in the registry.

    .venv/bin/python benchmarks/board.py [--quick]

An Airflow on SQLite without services holds a DAG for each of 50 projects, whose 60 months were run again and again.
Each route is asked as the page asks it: first of a server that knows nothing yet, then again. It prints one line a
route, with the target.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

PROJECTS, YEARS, RUNS = 50, (2021, 2022, 2023, 2024, 2025), 33
MONTHS = [f"{year}-{month:02}" for year in YEARS for month in range(1, 13)]
ROUTE_SECONDS, MATRIX_SECONDS = 0.3, 1.0
ROUNDS = 5
CATALOG = """
datasource: {id: lake, type: csv, path_prefix: ../data}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{name: monthly, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{YYYY}}-{{MM}}.csv"}}]
---
dataset:
  id: sales
  name: sales
  version: 1
  main_table:
    name: sales
    columns: [{name: shop, type: string}, {name: amount, type: decimal, precision: 18, scale: 2}]
"""
PROJECT = """
project:
  id: project-%(number)02d
  name: project-%(number)02d
  version: 1
  input_dataset_id: sales
  level: month
  checks: [{name: no amount is missing, output: 10, rows: amount IS NOT NULL}]
  operations:
    - seq: 10
      name: Write
      type: output
      arguments: {destination: {datasource_id: lake, path: out_%(number)02d}, columns: [shop, amount, _period]}
  airflow: {start_date: "2021-01-01", tags: [finance], deadline: {after_period_end: 3d}}
"""
DAGS = """
from datetime import datetime, timezone
from airflow_provider_runtime.dag_factory import project_dags
globals().update(project_dags("catalog", end_date=datetime(2025, 12, 31, tzinfo=timezone.utc)))
"""


def main() -> None:
    """Make the Airflow and the registry, and time the routes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    runs = 3 if parser.parse_args().quick else RUNS
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_airflow(home)
        count = fill_registry(home, runs)
        print(f"{PROJECTS} projects, {len(MONTHS)} months, {count} runs in the registry")
        time_routes()


def make_airflow(home: Path) -> None:
    """Write catalog, data and DAG file, and let Airflow store the DAGs."""
    dags = home / "dags"
    (dags / "catalog").mkdir(parents=True)
    (dags / "catalog" / "lake.yaml").write_text(CATALOG)
    for number in range(PROJECTS):
        (dags / "catalog" / f"project_{number:02}.yaml").write_text(PROJECT % {"number": number})
    (dags / "data" / "sales").mkdir(parents=True)
    for month in MONTHS:
        (dags / "data" / "sales" / f"{month}.csv").write_text("shop,amount\na,1.00\n")
    (dags / "projects.py").write_text(DAGS)
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
    }
    airflow = Path(sys.executable).with_name("airflow")
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        done = subprocess.run([airflow, *command], cwd=home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])


def fill_registry(home: Path, runs: int) -> int:
    """Write runs as jobs would have left them: the last ones of each month published what is there to read."""
    from airflow_provider_runtime.core.planning.stale.files import Fingerprints
    from airflow_provider_runtime.core.registry import tables
    from airflow_provider_runtime.core.registry.publications import count_checks, list_sources
    from airflow_provider_runtime.core.registry.sql import open_registry
    from spark_jobs.contract.tables import Location

    registry = open_registry(f"sqlite:///{home}/.runtime/registry.db")
    first = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    rows: list[dict[str, Any]] = []
    for month in MONTHS:
        place = Location(kind="files", format="csv", uri=f"file://{home}/dags/data/sales/{month}.csv")
        made = make_report(Fingerprints().take((place,)))
        report, sources = json.dumps(made), json.dumps(list_sources(made))
        counts = json.dumps(count_checks(made))
        for project in range(PROJECTS):
            for run in range(runs):
                number = len(rows)
                published = run % 3 != 1
                rows.append(
                    {
                        "snapshot_sha256": sha256(str(number).encode()).hexdigest(),
                        "run_id": f"run-{number}",
                        "project_id": f"project-{project:02}",
                        "project_name": f"project-{project:02}",
                        "project_version": 1,
                        "calendar": "gregorian",
                        "period": month,
                        "level": "month",
                        "status": "succeeded" if published else "failed",
                        "attempt": 1,
                        "token": run + 1,
                        "started_at": first + number * 100,
                        "finished_at": first + number * 100 + 50,
                        "published_at": first + number * 100 + 50 if published else None,
                        "who": "ann",
                        "report": report,
                        "sources": sources if published else None,
                        "check_counts": counts,
                    }
                )
    publications = list_publications(rows)
    with registry._engine.begin() as connection:
        for table, found in ((tables.runs, rows), (tables.publications, publications)):
            for start in range(0, len(found), 5000):
                connection.execute(table.insert(), found[start : start + 5000])
    registry.close()
    return len(rows)


def list_publications(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the runs have published, numbered within each period."""
    kept = ("project_id", "project_name", "period", "run_id", "snapshot_sha256", "token", "published_at", "report")
    numbers: Counter[tuple[str, str]] = Counter()
    found = []
    for run in runs:
        if run["published_at"] is not None:
            place = (run["project_id"], run["period"])
            numbers[place] += 1
            found.append({"number": numbers[place], **{name: run[name] for name in kept}})
    return found


def make_report(fingerprint: str | None) -> dict[str, Any]:
    """Return a report as long as one of a project of fifteen operations and six checks."""
    source = {
        "table": "sales",
        "dataset_id": "sales",
        "version": 1,
        "files": 1,
        "bytes": 20,
        "fingerprint": fingerprint,
    }
    operation = {"type": "update", "name": "Convert at the rate of the day", "rows_affected": 1000, "rows_after": 1000}
    check = {"output": 10, "kind": "value", "on_fail": "error", "status": "passed", "value": "1.00", "expected": "1.00"}
    return {
        "rows_in": 1000,
        "sources": [source],
        "operations": [{"seq": seq, **operation} for seq in range(15)],
        "checks": [{"name": f"check {number}", **check} for number in range(6)],
        "outputs": [{"seq": 10, "destination": "lake/out", "rows": 1000, "columns": ["shop", "amount"]}],
    }


def time_routes() -> None:
    """Ask each route as somebody who may see everything."""
    from airflow.api_fastapi.app import create_auth_manager, init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from airflow.api_fastapi.core_api.security import get_user
    from fastapi.testclient import TestClient

    from airflow_provider_runtime.board.app import make_app

    create_auth_manager()
    init_auth_manager()
    app = make_app()
    app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(username="ann", role="ADMIN")
    client = TestClient(app)
    period = "/api/dags/project-07/periods/2025-06"
    header = {"Origin": "http://testserver"}

    def ask(path: str, **query: str) -> Callable[[], object]:
        return lambda: client.get(path, params=query).raise_for_status()

    def close() -> object:
        return client.post(
            f"{period}/status", json={"status": "closed", "reason": "x"}, headers=header
        ).raise_for_status()

    whole = ask("/api/board", year="all")
    print_line("matrix of all months, by a server that has just started", time_once(whole), MATRIX_SECONDS)
    routes: dict[str, tuple[Callable[[], object], float]] = {
        "matrix of all months": (whole, MATRIX_SECONDS),
        "matrix of a year": (ask("/api/board"), ROUTE_SECONDS),
        "board of a DAG": (ask("/api/dags/project-07/board", year="all"), ROUTE_SECONDS),
        "evidence": (ask(period), ROUTE_SECONDS),
        "evidence as a file": (ask(f"{period}/evidence.html"), ROUTE_SECONDS),
        "report": (ask(f"{period}/report.json", run_id=find_run(client, period)), ROUTE_SECONDS),
        "close": (close, ROUTE_SECONDS),
    }
    for name, (route, target) in routes.items():
        print_line(name, sorted(time_once(route) for _ in range(ROUNDS))[ROUNDS // 2], target)


def find_run(client: Any, period: str) -> str:
    """Return the run that published a period."""
    return str(client.get(period).raise_for_status().json()["run"]["run_id"])


def time_once(route: Callable[[], object]) -> float:
    """Return the seconds of one answer."""
    start = time.perf_counter()
    route()
    return time.perf_counter() - start


def print_line(name: str, seconds: float, target: float) -> None:
    """Print a measurement beside what it may take."""
    print(f"{name:56} {seconds:6.3f} s   (target {target} s)", flush=True)


if __name__ == "__main__":
    main()

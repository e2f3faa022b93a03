"""How long `airflow-runtime plan` takes over a large catalog with a history.

    .venv/bin/python benchmarks/plans.py [--quick]

Half of the projects read files and register a dataset, the other half reads what these register. Every period was run
twice: the runs are put into the registry as a job would have left them. It prints one line a measurement, with the
target.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.core.planning.check.registered import make_table_name
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from airflow_provider_runtime.core.planning.stale.making import make_plan
from airflow_provider_runtime.core.planning.stale.plan import Scope
from airflow_provider_runtime.core.registry.ports import Publication, RunRecord, SliceWrite
from airflow_provider_runtime.core.registry.publications import list_sources
from airflow_provider_runtime.core.registry.slices import register_slice
from airflow_provider_runtime.core.registry.sql import SqlRegistry, open_registry
from airflow_provider_runtime.core.registry.store import Store
from airflow_provider_runtime.core.runs.begin import make_start
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.snapshot import Snapshot

PROJECTS, PERIODS = 200, 60
FIRST = date(2020, 1, 1)
COLUMNS = ", ".join(
    ["{name: shop, type: string}", *(f"{{name: amount_{n}, type: decimal, precision: 18, scale: 2}}" for n in range(8))]
)
HEAD = """
datasource: {id: lake, type: csv, path_prefix: ../data}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{name: monthly, strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{YYYY}}-{{MM}}.csv"}}]
"""


def write_books(folder: Path, projects: int, months: list[str]) -> None:
    """Write the catalog, and the files that it reads."""
    catalog = folder / "catalog"
    catalog.mkdir()
    (catalog / "lake.yaml").write_text(HEAD)
    for number in range(projects // 2):
        source = folder / "data" / f"sales_{number}"
        source.mkdir(parents=True)
        for month in months:
            (source / f"{month}.csv").write_text("shop\n")
        (catalog / f"close_{number}.yaml").write_text(
            f"dataset:\n  id: sales-{number}\n  name: Sales {number}\n  version: 1\n  main_table:"
            f" {{name: sales_{number}, temporal_mode: period, columns: [{COLUMNS}]}}\n---\n"
            + write_project(f"close-{number}", f"sales-{number}", f"Close {number}")
            + "---\n"
            + write_project(f"review-{number}", f"Close {number}", None)
        )


def write_project(name: str, reads: str, registers: str | None) -> str:
    """Return a project of four updates and an output."""
    updates = "".join(
        f"    - {{seq: {n + 1}, name: step {n}, type: update, selector: 'amount_{n} > 0',"
        f" arguments: {{assignments: [{{column: amount_{n + 1}, expression: 'amount_{n} + amount_{n + 2}'}}]}}}}\n"
        for n in range(4)
    )
    registered = f", register_as_dataset: {registers}" if registers else ""
    return (
        f"project:\n  id: {name}\n  name: {name}\n  version: 1\n  input_dataset_id: {reads}\n  operations:\n{updates}"
        f"    - {{seq: 20, name: Publish, type: output, arguments: {{destination: {{datasource_id: lake,"
        f" table: out/{name}}}{registered}, columns: [shop, {', '.join(f'amount_{n}' for n in range(8))}]}}}}\n"
    )


def publish(registry: SqlRegistry, folder: Path, names: list[str], months: list[str]) -> None:
    """Tell the registry of two runs of every project and period."""
    loaded = load_catalog(folder / "catalog")
    for name in names:
        snapshot = build_snapshot(loaded, name, months[0], ResolveOptions(slice_store=str(folder)), registry=registry)
        moved = [move(snapshot, month) for month in months]
        registry._write(lambda store, found=moved: [tell(store, snapshot, folder) for snapshot in found])


def move(snapshot: Snapshot, month: str) -> Snapshot:
    """Return the snapshot of another month, as far as a plan looks at it."""
    period = make_period_index(GREGORIAN).find_period(month)
    assert period is not None
    first = snapshot.period.identifier
    tables = {
        key: replace(
            table,
            locations=tuple(
                replace(location, uri=location.uri.replace(first, month), period=month) for location in table.locations
            ),
        )
        for key, table in snapshot.plan.tables.items()
    }
    days = replace(snapshot.period, identifier=month, start_date=period.start_date, end_date=period.end_date)
    return replace(snapshot, period=days, plan=replace(snapshot.plan, tables=tables))


def tell(store: Store, snapshot: Snapshot, folder: Path) -> None:
    """Tell of a run that was published, and of one before it."""
    month = snapshot.period.identifier
    start = make_start(snapshot, str(folder / "snapshots" / f"{snapshot.sha256}.json"))
    now = datetime.now(UTC)
    for age in (2, 1):
        run = RunRecord(
            hashlib.sha256(f"{snapshot.sha256}{month}{age}".encode()).hexdigest(),
            f"{snapshot.run_id}-{month}-{age}",
            start.project_id,
            start.project_name,
            start.project_version,
            start.calendar,
            start.period,
            start.level,
            "running",
            1,
            3 - age,
            now - timedelta(days=age),
            snapshot_uri=start.snapshot_uri,
            basis=start.basis,
        )
        report = make_report(snapshot)
        finished = now - timedelta(days=age, minutes=-1)
        for operation in snapshot.plan.operations:
            if isinstance(operation, OutputOperation) and operation.slice is not None:
                register(store, run, operation, start.period, folder, finished)
        told = (run.project_id, run.project_name, run.period, 3 - age, run.run_id, run.snapshot_sha256, run.token)
        store.add_publication(Publication(*told, finished, report))
        done = replace(run, status="succeeded", finished_at=finished, published_at=finished, report=report)
        store.put_run(replace(done, sources=list_sources(report)))


def make_report(snapshot: Snapshot) -> dict[str, object]:
    """Return a report as a job writes it."""
    totals = {f"amount_{n}": "123456.78" for n in range(8)}
    operations = [
        {"seq": operation.seq, "type": "update", "name": operation.name, "rows_affected": 1000, "rows_after": 1000}
        for operation in snapshot.plan.operations
    ]
    outputs = [{"seq": 20, "rows": 1000, "columns": ["shop", *totals], "totals": totals, "content": "0" * 64}]
    sources = [
        {
            "table": table.table,
            "dataset_id": table.dataset_id,
            "version": table.dataset_version,
            "fingerprint": Fingerprints().take(table.locations),
        }
        for table in snapshot.plan.tables.values()
    ]
    checks = [{"name": f"check {n}", "status": "passed", "rows": 1000, "value": "1.00"} for n in range(5)]
    return {"status": "succeeded", "operations": operations, "outputs": outputs, "sources": sources, "checks": checks}


def register(
    store: Store, run: RunRecord, operation: OutputOperation, period: str, folder: Path, moment: datetime
) -> None:
    """Register a slice of one file."""
    assert operation.slice is not None
    name = operation.slice.dataset_name
    slice_folder = folder / "slices" / operation.slice.dataset_id / period / str(run.token)
    slice_folder.mkdir(parents=True, exist_ok=True)
    (slice_folder / "part.parquet").write_text("")
    columns = [{"name": column.name, "type": "string"} for column in operation.columns if column.name == "shop"]
    columns += [{"name": f"amount_{n}", "type": "decimal", "precision": 38, "scale": 2} for n in range(8)]
    definition = {
        "id": operation.slice.dataset_id,
        "name": name,
        "resolver_id": "registry",
        "main_table": {"name": make_table_name(name), "temporal_mode": "period", "columns": columns},
    }
    write = SliceWrite(20, operation.slice.dataset_id, name, period, str(slice_folder), 1000, definition, "0" * 64)
    register_slice(store, run, write, round(moment.timestamp() * 1000))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few, to see that it works")
    projects, periods = (6, 3) if parser.parse_args().quick else (PROJECTS, PERIODS)
    months = [f"{FIRST.year + n // 12}-{n % 12 + 1:02}" for n in range(periods)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_books(folder, projects, months)
        url = f"sqlite:///{folder}/registry.db"
        registry = open_registry(url)
        publish(registry, folder, [f"close-{n}" for n in range(projects // 2)], months)
        publish(registry, folder, [f"review-{n}" for n in range(projects // 2)], months)
        scope = Scope(period=f"{months[0]}..{months[-1]}")
        states = [entry.state for entry in make_plan(folder / "catalog", registry, scope).entries]
        registry.close()
        assert states == ["fresh"] * projects * periods, f"{len(states)} entries: {sorted(set(states))}"
        command = [
            sys.executable,
            "-m",
            "airflow_provider_runtime.cli.main",
            "plan",
            "--catalog",
            str(folder / "catalog"),
        ]
        times = []
        for _ in range(1 if projects < PROJECTS else 3):
            begin = time.perf_counter()
            subprocess.run(
                [*command, "--registry", url, "--period", str(scope.period)], check=True, capture_output=True
            )
            times.append(time.perf_counter() - begin)
    print(f"{f'plan of {projects} projects and {periods} periods':62} {min(times):6.2f} s   (target 5.0 s)")


if __name__ == "__main__":
    main()

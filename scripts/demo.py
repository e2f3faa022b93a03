"""`make demo` and `make ui`: the FX close of three months through a real Airflow, all inside demo/."""

# ruff: noqa: T201

from __future__ import annotations

import csv
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from demo_airflow import LOGIN, DemoAirflow, is_running

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
PROJECT = DEMO / "project"
CLOSE, REVIEW, QUARTER = "fx-close", "budget-review", "quarterly-close"
RUNS = 7
"""Three months of two projects, and the quarter that is made of them."""
MONTHS = ("2026-01", "2026-02", "2026-03")
DAGS = '''"""One DAG for each project of the catalog."""

from datetime import datetime, timezone

from airflow_provider_runtime.dag_factory import project_dags

# The sample data end with March 2026, and so do the runs.
globals().update(project_dags("catalog", end_date=datetime(2026, 3, 31, tzinfo=timezone.utc)))
'''


def main(arguments: Sequence[str]) -> None:
    """Run the demo, or open the UI with its runs."""
    # A kill must not leave Airflow behind: it ends this program like Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_running(DEMO):
        raise SystemExit("the demo's Airflow is running in another terminal: stop it there with Ctrl-C first")
    if "--ui" in arguments:
        show_ui()
    else:
        run_demo()


def run_demo() -> None:
    """Start afresh, backfill three months, wait for the project that reads them, and print the page."""
    started = time.monotonic()
    shutil.rmtree(DEMO, ignore_errors=True)
    prepare_project()
    airflow = DemoAirflow(DEMO)
    tell(started, "starting Airflow (SQLite, LocalExecutor) in demo/")
    try:
        airflow.start()
        wait_for_dags(airflow)
        tell(started, f"Airflow is up; backfilling {CLOSE} for {MONTHS[0]} to {MONTHS[-1]}")
        backfill(airflow)
        watch(airflow, started)
    finally:
        airflow.stop()
    print()
    page = "\n".join(make_page())
    (DEMO / "page.txt").write_text(page + "\n", encoding="utf-8")
    print(page)
    print(f"\nDone in {time.monotonic() - started:.0f} s. See these runs in the Airflow UI:  make ui")


def show_ui() -> None:
    """Keep Airflow running until it is stopped with Ctrl-C."""
    if not (DEMO / "airflow" / "airflow.db").exists():
        run_demo()
    airflow = DemoAirflow(DEMO)
    print("starting Airflow …", flush=True)
    try:
        airflow.start()
        print(
            f"Airflow UI:  {airflow.url}/plugin/periods\nlogin:       {LOGIN[0]} / {LOGIN[1]}\nstop:        Ctrl-C",
            flush=True,
        )
        if airflow.process is not None:
            airflow.process.wait()
    except KeyboardInterrupt:
        print("\nstopped")
    finally:
        airflow.stop()


def prepare_project() -> None:
    """Copy the example's catalog and data, with a DAG file of one call."""
    for part in ("catalog", "data"):
        shutil.copytree(ROOT / "dags_examples" / part / "fx_close", PROJECT / part / "fx_close")
    (PROJECT / "projects.py").write_text(DAGS, encoding="utf-8")


def wait_for_dags(airflow: DemoAirflow) -> None:
    """Wait until the DAG file was parsed, and let the projects run."""
    end = time.monotonic() + 90
    while not {CLOSE, REVIEW, QUARTER} <= {dag["dag_id"] for dag in airflow.poll("/dags?limit=50", end)["dags"]}:
        if time.monotonic() > end:
            raise SystemExit(f"the DAGs did not appear; see {airflow.log}")
        time.sleep(0.5)
    for dag in (QUARTER, REVIEW, CLOSE):
        airflow.change("PATCH", f"/dags/{dag}", {"is_paused": False})


def backfill(airflow: DemoAirflow) -> None:
    """Ask for one run a month, as the UI's form does."""
    body = {
        "dag_id": CLOSE,
        "from_date": "2026-01-01T00:00:00Z",
        "to_date": "2026-03-31T00:00:00Z",
        "max_active_runs": 3,
    }
    airflow.change("POST", "/backfills", body)


def watch(airflow: DemoAirflow, started: float) -> None:
    """Report each run that ends, until all projects have run for every month and the quarter."""
    ended: set[tuple[str, str]] = set()
    end = time.monotonic() + 900
    while len(ended) < RUNS:
        if time.monotonic() > end:
            raise SystemExit(f"not all runs have ended; see {airflow.log}")
        time.sleep(1)
        for dag in (CLOSE, REVIEW, QUARTER):
            for run in airflow.poll(f"/dags/{dag}/dagRuns?limit=50", end)["dag_runs"]:
                key = (dag, run["partition_key"])
                if key not in ended and run["state"] in ("success", "failed"):
                    ended.add(key)
                    tell(started, f"{dag} {run['partition_key']}: {run['state']}")
                    if run["state"] == "failed":
                        raise SystemExit(f"the run failed; its task logs are below {airflow.home / 'logs'}")


def tell(started: float, what: str) -> None:
    """Print a line of progress."""
    print(f"{time.monotonic() - started:5.0f} s  {what}", flush=True)


def make_page() -> Iterable[str]:
    """Yield the lines of the page."""
    from airflow_provider_runtime.core.registry.sql import open_registry

    registry = open_registry(f"sqlite:///{DEMO}/airflow/.runtime/registry.db")
    runs = sorted(registry.list_runs(), key=lambda run: (run.project_name != CLOSE, run.period))
    close = [run for run in runs if run.project_name == CLOSE]
    reviews = [run for run in runs if run.project_name == REVIEW]
    yield from heading("Runs: one a period")
    titles = ("project", "period", "status", "rows in", "rows written", "registered")
    yield from table(titles, [describe_run(run, registry) for run in (*close, *reviews)])
    yield from heading("Versions: what each run pinned before it began")
    pinned = [(run.project_name, run.period, list_pinned(run, registry)) for run in (*close, *reviews)]
    yield from table(("project", "period", "pinned versions"), pinned)
    yield from heading(f"Before: {MONTHS[0]}, as the ledger has it (data/fx_close/transactions/{MONTHS[0]}.csv)")
    journals, before = read_ledger()
    yield from table(("journal_id", "account_code", "currency", "amount_local"), before)
    yield from heading("After: converted at the rate of the period's first day (warehouse/ledger_usd)")
    ledger = {row["journal_id"]: row for row in read_parquet("ledger_usd")}
    columns = (
        "journal_id",
        "account_code",
        "account_type",
        "currency",
        "amount_local",
        "rate",
        "amount_usd",
        "_period",
    )
    yield from table(columns, [[ledger[journal][name] for name in columns] for journal in journals])
    yield from heading(f"After: {REVIEW} of {MONTHS[-1]}, made from what {CLOSE} registered (warehouse/budget_review)")
    columns = ("account_code", "actual_usd", "budget_usd", "variance_usd", "variance_share", "_period")
    rows = [row for row in read_parquet("budget_review") if row["_period"] == MONTHS[-1]]
    yield from table(
        columns, [[row[name] for name in columns] for row in sorted(rows, key=lambda row: row["account_code"])]
    )
    yield from heading("Where it is")
    yield from table(
        ("what", "where"),
        [
            ("the projects, as YAML", "demo/project/catalog/fx_close/fx_close.yaml"),
            ("the DAG file", "demo/project/projects.py"),
            ("the results, as Parquet", "demo/project/warehouse/<table>/period=<period>/"),
            ("snapshots of the runs", "demo/airflow/.runtime/snapshots/"),
            ("the registry", "demo/airflow/.runtime/registry.db"),
        ],
    )


def describe_run(run: Any, registry: Any) -> tuple[object, ...]:
    """Return a row of the table of runs."""
    written = " + ".join(str(output["rows"]) for output in run.report["outputs"])
    return (run.project_name, run.period, run.status, run.rows_in, written, find_registered(run, registry))


def list_pinned(run: Any, registry: Any) -> str:
    """Return the datasets that a run read, with their versions."""
    pins = json.loads(Path(run.snapshot_uri.removeprefix("file://")).read_bytes())["resolver_snapshot"]
    used = [(pins["input_dataset_id"], pins["input_dataset_version"])]
    for kind in ("lookup_datasets", "join_datasets", "append_datasets"):
        used += [(pin["dataset_id"], pin["dataset_version"]) for pin in pins.get(kind, ())]
    return ", ".join(f"{name_dataset(identifier, registry)} v{version}" for identifier, version in used)


def find_registered(run: Any, registry: Any) -> str:
    """Return the versions of datasets that a run has registered."""
    found = [
        f"{summary.name} v{version.version}"
        for summary in registry.list_datasets()
        for version in registry.list_versions(summary.dataset_id)
        if version.snapshot_sha256 == run.snapshot_sha256
    ]
    return ", ".join(found)


def name_dataset(identifier: str, registry: Any) -> str:
    """Return the name of a registered dataset; the catalog's ids are readable as they are."""
    found = registry.find_version(identifier)
    return str(found.name) if found is not None else identifier


def read_ledger() -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the first postings of a month in each currency."""
    with (PROJECT / "data" / "fx_close" / "transactions" / f"{MONTHS[0]}.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["amount_local"] or 0) != 0]
    chosen = list({row["currency"]: row for row in reversed(rows)}.values())[::-1][:5]
    shown = [(row["journal_id"], row["account_code"], row["currency"], row["amount_local"]) for row in chosen]
    return [row["journal_id"] for row in chosen], shown


def read_parquet(name: str) -> list[dict[str, Any]]:
    """Return all rows of a table of the warehouse; any reader of Parquet would do."""
    from pyarrow.parquet import ParquetFile

    files = sorted((PROJECT / "warehouse" / name).rglob("*.parquet"))
    return [row for file in files for row in ParquetFile(file).read().to_pylist()]


def heading(text: str) -> Iterable[str]:
    """Yield a heading."""
    return ("", text, "-" * len(text))


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterable[str]:
    """Yield aligned lines; numbers are aligned to the right."""
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    right = [all(is_number(row[place]) for row in cells) for place in range(len(titles))]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    for line in (list(titles), *cells):
        aligned = [
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(aligned).rstrip()


def is_number(text: str) -> bool:
    """Whether a cell is a number or empty."""
    return not text or text.lstrip("-").replace(".", "", 1).isdigit()


if __name__ == "__main__":
    print(f"airflow-provider-runtime demo, {date.today()}")
    main(sys.argv[1:])

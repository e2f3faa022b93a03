"""`airflow-runtime run --plan`: runs what a plan found missing or stale, in its order, as long as the plan holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from airflow_provider_runtime.cli.local_run import RunResult
    from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
    from airflow_provider_runtime.core.planning.stale.plan import Work
    from airflow_provider_runtime.core.registry.ports import Registry

RunOne = Callable[[str, str], "RunResult"]
"""Runs a project for a period and prints what came of it."""


def run_plan(
    path: Path, catalog: Path, registry: Registry, snapshots: RunSnapshots, run_one: RunOne, *, keep_going: bool
) -> list[RunResult]:
    """Run every entry that is to run, but for what depends on a run that failed or waits for a decision."""
    from airflow_provider_runtime.cli.credentials import read_properties
    from airflow_provider_runtime.core.planning.stale.making import check_plan

    plan = check_plan(_read(path), catalog, registry, snapshots, read_properties)
    results: list[RunResult] = []
    failed: dict[Work, bool] = {}
    """Whether it was left out, by what has failed."""
    staged: dict[Work, bool] = {}
    """Whether it was left out, by what is not published yet."""
    for entry in plan.list_to_run():
        needed = set(entry.depends_on)
        if (failed and not keep_going) or needed & failed.keys():
            failed[entry.work] = True
            continue
        if needed & staged.keys():
            staged[entry.work] = True
            continue
        result = run_one(entry.work.project, entry.work.period)
        results.append(result)
        if not result.succeeded:
            failed[entry.work] = False
        elif result.report.get("status") == "staged":
            staged[entry.work] = False
    if not results:
        click.echo("nothing is missing or stale")
    _print_left_out("stopped: {} not run", failed)
    _print_left_out("{} not run: publish first what they read, then make a new plan", staged)
    return results


def _print_left_out(message: str, found: Mapping[Work, bool]) -> None:
    from airflow_provider_runtime.core.suggest import list_names

    names = [f"{work.project} {work.period}" for work, is_left_out in found.items() if is_left_out]
    if names:
        count = f"{len(names)} {'was' if len(names) == 1 else 'were'}"
        click.echo(f"{message.format(count)} ({list_names(names)})", err=True)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"--plan {path} cannot be read: {error.strerror}") from None
    except ValueError:
        return None

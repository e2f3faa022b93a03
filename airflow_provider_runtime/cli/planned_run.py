"""`airflow-runtime run --plan`: runs what a plan found missing or stale, in its order, as long as the plan holds."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    """Run every entry that is to run; what depends on a run that failed is left out."""
    from airflow_provider_runtime.cli.credentials import read_properties
    from airflow_provider_runtime.core.planning.stale.making import check_plan

    plan = check_plan(_read(path), catalog, registry, snapshots, read_properties)
    results: list[RunResult] = []
    failed: set[Work] = set()
    left: list[Work] = []
    for entry in plan.list_to_run():
        if (failed and not keep_going) or failed & set(entry.depends_on):
            failed.add(entry.work)
            left.append(entry.work)
            continue
        result = run_one(entry.work.project, entry.work.period)
        results.append(result)
        if not result.succeeded:
            failed.add(entry.work)
    if not results:
        click.echo("nothing is missing or stale")
    if left:
        from airflow_provider_runtime.core.suggest import list_names

        names = list_names([f"{work.project} {work.period}" for work in left])
        click.echo(f"stopped: {len(left)} were not run ({names})", err=True)
    return results


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"--plan {path} cannot be read: {error.strerror}") from None
    except ValueError:
        return None

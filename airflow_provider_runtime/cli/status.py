"""The command `airflow-runtime status`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    print_json,
    project_option,
    registry_option,
)
from airflow_provider_runtime.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from airflow_provider_runtime.core.planning.stale.plan import Entry
    from airflow_provider_runtime.core.registry.ports import Registry, RunRecord

TITLES = ("project", "period", "state", "status", "published (UTC)", "rows", "why", "totals")


@click.command("status")
@catalog_option
@project_option()
@registry_option()
@click.option("--last", type=click.IntRange(min=1), default=3, show_default=True, help="Periods of each project.")
@format_option("text", "json")
def command(catalog: Path, project: str | None, registry: str | None, last: int, output_format: str) -> None:
    """Show the last periods of each project: their state and why, when they were published, rows and control totals.

    \b
    Example:
      airflow-runtime status --last 6
    """
    from airflow_provider_runtime.cli.credentials import read_properties
    from airflow_provider_runtime.cli.registries import choose_registry
    from airflow_provider_runtime.core.planning.stale.making import make_plan
    from airflow_provider_runtime.core.planning.stale.plan import Scope

    choice = choose_registry(registry, catalog)
    opened = choice.open_to_read(quiet=output_format == "json")
    try:
        entries = make_plan(catalog, opened, Scope(project), choice.snapshots, read_properties=read_properties).entries
        rows = [_describe(entry, opened) for entry in _choose_last(entries, last)]
    finally:
        opened.close()
    if output_format == "json":
        print_json(rows)
        return
    shown = [(*list(row.values())[:-1], _write_totals(row["totals"])) for row in rows]
    print_table(TITLES, shown, empty="no periods are due", optional=("totals", "why", "status"))
    if rows:
        states = Counter(row["state"] for row in rows)
        click.echo("\n" + ", ".join(f"{count} {state}" for state, count in states.items()))


def _choose_last(entries: Iterable[Entry], last: int) -> list[Entry]:
    """Return the last periods of each project, projects by name."""
    by_project: dict[str, list[Entry]] = {}
    for entry in entries:
        by_project.setdefault(entry.work.project, []).append(entry)
    return [entry for name in sorted(by_project) for entry in by_project[name][-last:]]


def _describe(entry: Entry, registry: Registry) -> dict[str, Any]:
    from airflow_provider_runtime.core.evidence.gather import find_published

    published = find_published(registry.list_runs(project=entry.work.project, period=entry.work.period))
    outputs = ((published.report or {}).get("outputs") or ()) if published is not None else ()
    return {
        "project": entry.work.project,
        "period": entry.work.period,
        "state": entry.state,
        "status": entry.status,
        "published": _format(published),
        "rows": sum(output["rows"] for output in outputs) if published is not None else None,
        "why": "; ".join(_list_reasons(entry)),
        "totals": _find_totals(published),
    }


def _list_reasons(entry: Entry) -> Iterator[str]:
    yield from dict.fromkeys(reason.kind for reason in entry.reasons)
    if entry.held_back is not None:
        yield f"{entry.held_back}: not run"


def _find_totals(run: RunRecord | None) -> dict[str, str]:
    """Return the values that checks of a publication have recorded, those of groups left out."""
    checks = ((run.report or {}).get("checks") or ()) if run is not None else ()
    values = {check["name"]: check["value"] for check in checks if check["kind"] == "value"}
    return {name: value for name, value in values.items() if value is not None}


def _write_totals(totals: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in totals.items())


def _format(run: RunRecord | None) -> str | None:
    moment = run.published_at if run is not None else None
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")

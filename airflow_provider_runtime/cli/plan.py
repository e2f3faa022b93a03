"""The command `airflow-runtime plan`."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    period_option,
    print_json,
    project_option,
    registry_option,
)
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.suggest import list_names

if TYPE_CHECKING:
    from airflow_provider_runtime.core.planning.stale.plan import Entry, Plan


@click.command("plan")
@catalog_option
@project_option()
@period_option("A period, or the first and the last of several. [default: all due]", metavar="X[..Y]")
@registry_option()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the plan as JSON to this file.")
@format_option("text", "json")
def command(
    catalog: Path,
    project: str | None,
    period: str | None,
    registry: str | None,
    output: Path | None,
    output_format: str,
) -> None:
    """Show what is missing or stale, why, and what follows from it; no Spark.

    \b
    Examples:
      airflow-runtime plan
      airflow-runtime plan --project fx-conversion --period 2026-01..2026-06
      airflow-runtime plan --output plan.json && airflow-runtime run --plan plan.json
    """
    from airflow_provider_runtime.cli.credentials import read_properties
    from airflow_provider_runtime.core.planning.stale.making import make_plan
    from airflow_provider_runtime.core.planning.stale.plan import Scope

    # Nothing that a plan makes is garbage before it ends: looking for some takes a quarter of its time.
    gc.disable()
    choice = choose_registry(registry, catalog)
    opened = choice.open_to_read()
    try:
        found = make_plan(catalog, opened, Scope(project, period), choice.snapshots, read_properties=read_properties)
    finally:
        opened.close()
        gc.enable()
    if output is not None:
        _write(output, found)
    if output_format == "json":
        print_json(found.to_document())
        return
    _print(found)


def _write(path: Path, plan: Plan) -> None:
    import json

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plan.to_document(), indent=2) + "\n", encoding="utf-8")


def _print(plan: Plan) -> None:
    rows = [
        (entry.work.project, entry.work.period, entry.state, _show_status(entry), _show_reasons(entry))
        for entry in plan.entries
    ]
    print_table(("project", "period", "state", "", "why"), rows, empty="no periods are due")
    chosen = plan.list_to_run()
    left = Counter(entry.held_back for entry in plan.entries if entry.held_back is not None)
    click.echo()
    click.echo(", ".join([f"{len(chosen)} to run", *(f"{count} {why}: not run" for why, count in left.items())]))
    if chosen:
        click.echo(
            "run them in this order: airflow-runtime plan --output plan.json && airflow-runtime run --plan plan.json"
        )


def _show_status(entry: Entry) -> str:
    return entry.held_back or ("" if entry.status == "open" else entry.status)


def _show_reasons(entry: Entry) -> str:
    shown = [_show_reason(reason.kind, reason.detail, reason.columns) for reason in entry.reasons]
    if entry.unknown:
        shown.append(f"unknown: whether the data of {list_names(entry.unknown)} have changed")
    return "; ".join(shown)


def _show_reason(kind: str, detail: str, columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:8]) + (", …" if len(columns) > 8 else "")
    return f"{kind}: {detail}" + (f" -> {shown}" if shown and kind != "definition" else "")

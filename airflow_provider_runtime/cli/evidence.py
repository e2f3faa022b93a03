"""The command `airflow-runtime evidence`."""

from __future__ import annotations

from pathlib import Path

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


@click.command("evidence")
@catalog_option
@project_option(required=True)
@period_option("The period.", required=True)
@registry_option()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this HTML file.")
@format_option("html", "json")
def command(
    catalog: Path, project: str, period: str, registry: str | None, output: Path | None, output_format: str
) -> None:
    """Tell who published a period from what, checked how, and what followed: one file to hand to an auditor.

    \b
    Example:
      airflow-runtime evidence --project fx-conversion --period 2026-01 --output evidence.html
    """
    from airflow_provider_runtime.cli.credentials import read_properties
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.errors import RuntimeProviderError, raise_problems
    from airflow_provider_runtime.core.evidence.deadline import find_due
    from airflow_provider_runtime.core.evidence.gather import gather_evidence
    from airflow_provider_runtime.core.evidence.page import render_page
    from airflow_provider_runtime.core.planning.stale.making import find_work, make_plan
    from airflow_provider_runtime.core.planning.stale.plan import Scope, Work

    choice = choose_registry(registry, catalog)
    opened, snapshots = choice.open_to_read(), choice.snapshots
    try:
        loaded = load_catalog(catalog)
        model, found = find_work(loaded, project, period)
        try:
            # All projects, so that it shows what depends on the period.
            raise_problems(loaded.problems)
            plan = make_plan(loaded, opened, Scope(), snapshots, read_properties=read_properties)
        except RuntimeProviderError:
            plan = make_plan(loaded, opened, Scope(model.name), snapshots, read_properties=read_properties)
            click.echo("what depends on it is unknown: other projects cannot be looked at, see `plan`", err=True)
        work, due = Work(model.name, found.identifier), find_due(model, found)
        evidence = gather_evidence(opened, plan, work, model.calendar, model.level, snapshots, due)
    finally:
        opened.close()
    if output_format == "json" and output is None:
        print_json(evidence.to_document())
        return
    page = render_page(evidence)
    if output is None:
        click.echo(page)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    click.echo(f"wrote {output}")

"""The command `airflow-runtime checks`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.check_table import TITLES, make_row
from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    period_option,
    print_json,
    project_option,
    registry_option,
)
from airflow_provider_runtime.cli.people import find_user
from airflow_provider_runtime.cli.registries import choose_registry, require_catalog
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.evidence.checks import PeriodChecks, list_last_checks
from airflow_provider_runtime.core.registry.ports import Registry

if TYPE_CHECKING:
    from airflow_provider_runtime.core.model.project import Project


@click.command("checks")
@catalog_option
@registry_option()
@project_option(required=True)
@period_option("Only this period.")
@click.option("--override", metavar="NAME", help="Let this failing check pass, for runs resolved from now on.")
@click.option("--withdraw", metavar="NAME", help="End that.")
@click.option("--reason", metavar="TEXT", help="Reason; required with --override.")
@format_option("text", "json")
def command(
    catalog: Path,
    registry: str | None,
    project: str,
    period: str | None,
    override: str | None,
    withdraw: str | None,
    reason: str | None,
    output_format: str,
) -> None:
    """Show the last results of a project's checks; let a failing one pass, with who, when and why.

    \b
    Examples:
      airflow-runtime checks --project fx-close --period 2026-01
      airflow-runtime checks --project fx-close --period 2026-01 --override "no jump" --reason "a store was closed"
      airflow-runtime checks --project fx-close --period 2026-01 --withdraw "no jump"
    """
    if override is not None and withdraw is not None:
        raise click.UsageError("give one of --override and --withdraw")
    if (override or withdraw) is not None and period is None:
        raise click.UsageError("an override is of one period: give --period X")
    if override is not None and not (reason or "").strip():
        raise click.UsageError("an override needs --reason TEXT")
    if reason is not None and override is None and withdraw is None:
        raise click.UsageError("--reason belongs to --override and --withdraw")
    if override is not None and registry is None:
        require_catalog(catalog)
    choice = choose_registry(registry, catalog)
    opened = choice.open_to_read() if override is None else choice.open()
    if period is not None and override is not None:
        project_id = _find_project(opened, catalog, project, period, override)
        opened.add_override(project_id, period, override, who=find_user(), reason=(reason or "").strip())
    elif period is not None and withdraw is not None:
        _withdraw(opened, catalog, project, period, withdraw, (reason or "").strip())
    found = list_last_checks(opened, project, period)
    if not found and (catalog.is_dir() or not opened.list_runs(project=project, limit=1)):
        # Nothing to show may be a slip in a name.
        _read_catalog(catalog, project, period)
    _print(found, output_format)


def _find_project(registry: Registry, catalog: Path, reference: str, period: str, name: str) -> str:
    """Return the project's id, after finding that it has the check and that the period is one of its calendar."""
    run = next(iter(registry.list_runs(project=reference, period=period, limit=1)), None)
    results = (run.report or {}).get("checks") or () if run is not None else ()
    if run is not None and any(entry.get("name") == name and entry.get("status") != "recorded" for entry in results):
        return run.project_id
    from airflow_provider_runtime.core.planning.check.checks import find_override_problem

    project = _read_catalog(catalog, reference, period)
    problem = find_override_problem(project, name)
    if problem is not None:
        raise DefinitionError(problem)
    return project.id


def _read_catalog(catalog: Path, reference: str, period: str | None) -> Project:
    """Return the project, after finding that the period is one of its calendar."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.check.validation import get_project
    from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods, get_run_period

    loaded = load_catalog(catalog, project=reference)
    definition = get_project(loaded, reference)
    if period is not None:
        get_run_period(get_project_periods(loaded.catalog, definition), period, definition)
    return definition.model


def _withdraw(registry: Registry, catalog: Path, reference: str, period: str, name: str, reason: str) -> None:
    known = next(iter(registry.list_runs(project=reference, limit=1)), None)
    project_id = known.project_id if known is not None else _read_catalog(catalog, reference, period).id
    if registry.withdraw_override(project_id, period, name, who=find_user(), reason=reason) is None:
        held = [entry.check for entry in registry.list_overrides(project_id, period) if entry.withdrawn_at is None]
        hint = f"overridden are: {', '.join(held)}" if held else "no check of this period is overridden"
        raise DefinitionError(Problem("CHECK_002", f"check '{name}' of period {period} is not overridden", hint))


def _print(periods: Iterable[PeriodChecks], output_format: str) -> None:
    listed = list(periods)
    if output_format == "json":
        print_json([found.to_dict() for found in listed])
        return
    rows = [(found.period, *make_row(result)) for found in listed for result in found.checks]
    print_table(("period", *TITLES), rows, empty="no results of checks", optional=("difference",))
    given = [
        (found.period, entry.check, entry.who, entry.at, entry.reason, entry.withdrawn_by)
        for found in listed
        for entry in found.overrides
    ]
    if given:
        click.echo()
        print_table(("period", "overridden", "who", "when (UTC)", "why", "withdrawn by"), given, empty="")

"""The command `airflow-runtime periods`."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from airflow_provider_runtime.cli.options import (
    DEFAULT_REGISTRY,
    catalog_option,
    format_option,
    print_json,
    registry_option,
)
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError, Problem, raise_problems
from airflow_provider_runtime.core.model.period import Calendar, PeriodStatus
from airflow_provider_runtime.core.registry.ports import PeriodRecord, Registry


@click.command("periods")
@catalog_option
@registry_option(default=DEFAULT_REGISTRY)
@click.option("--calendar", metavar="C", default="gregorian", show_default=True, help="Id of a calendar.")
@click.option("--close", metavar="PERIOD", help="Close a period: runs need --allow-closed.")
@click.option("--lock", metavar="PERIOD", help="Lock a period for ever.")
@click.option("--reopen", metavar="PERIOD", help="Open a closed period again.")
@click.option("--reason", metavar="TEXT", help="Why; asked for with every change.")
@format_option("text", "json")
def command(
    catalog: Path,
    registry: str,
    calendar: str,
    close: str | None,
    lock: str | None,
    reopen: str | None,
    reason: str | None,
    output_format: str,
) -> None:
    """Show periods with who set their status, when and why; close, lock or reopen one.

    \b
    Examples:
      airflow-runtime periods
      airflow-runtime periods --close 2026-01 --reason "books are done"
    """
    wanted: list[tuple[PeriodStatus, str | None]] = [("closed", close), ("locked", lock), ("open", reopen)]
    changes = [(status, period) for status, period in wanted if period is not None]
    if len(changes) > 1:
        raise click.UsageError("give one of --close, --lock and --reopen")
    if changes and not (reason or "").strip():
        raise click.UsageError("a change of status needs --reason TEXT")
    if reason is not None and not changes:
        raise click.UsageError("--reason belongs to --close, --lock or --reopen")
    from airflow_provider_runtime.core.registry.sql import open_registry

    definition = _load_calendar(catalog, calendar)
    opened = open_registry(registry)
    for status, period in changes:
        _change(opened, definition, period, status, (reason or "").strip(), quiet=output_format == "json")
    _print(_list_periods(opened, definition), output_format)


def _load_calendar(catalog: Path, calendar: str) -> Calendar:
    from airflow_provider_runtime.core.model.period import GREGORIAN

    if calendar == GREGORIAN.id:
        return GREGORIAN
    from airflow_provider_runtime.core.catalog.loader import load_catalog

    loaded = load_catalog(catalog)
    definition = loaded.catalog.find_calendar(calendar)
    if definition is None:
        from airflow_provider_runtime.core.suggest import suggest

        raise_problems(loaded.problems)
        hint = suggest(calendar, [GREGORIAN.id, *sorted(loaded.catalog.calendars)])
        raise DefinitionError(Problem("CATALOG_004", f"calendar '{calendar}' not found in {catalog}", hint))
    return definition.model


def _change(
    registry: Registry, calendar: Calendar, period: str, status: PeriodStatus, reason: str, *, quiet: bool
) -> None:
    from airflow_provider_runtime.core.planning.periods import make_period_index

    found = make_period_index(calendar).get_period(period)
    if found.status == "locked" and status != "locked":
        message = f"period {period} of calendar '{calendar.id}' is locked in the calendar's file"
        raise PeriodError(Problem("PERIOD_002", message, "a locked period never changes again"))
    update = registry.set_period_status(calendar.id, found.identifier, status, who=_find_user(), reason=reason)
    for run in () if quiet else update.revoked:
        click.echo(f"revoked: run {run.run_id} of {run.project_name} will publish nothing", err=True)


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _list_periods(registry: Registry, calendar: Calendar) -> list[PeriodRecord]:
    from airflow_provider_runtime.core.registry.attempts import get_stricter

    known = {record.period: record for record in registry.list_periods(calendar.id)}
    listed = []
    for period in calendar.periods:
        record = known.pop(period.identifier, PeriodRecord(calendar.id, period.identifier, "open"))
        stricter = get_stricter(period.status, record.status)
        if stricter != record.status:
            record = PeriodRecord(calendar.id, period.identifier, stricter, "", "calendar file", None, record.history)
        listed.append(record)
    return [*listed, *known.values()]


def _print(records: list[PeriodRecord], output_format: str) -> None:
    if output_format == "json":
        print_json([_describe(record) for record in records])
        return
    rows = [(r.period, r.status, r.who, r.changed_at, r.reason) for r in records]
    print_table(("period", "status", "who", "when (UTC)", "why"), rows, empty="every period is open")


def _describe(record: PeriodRecord) -> dict[str, object]:
    return {
        "calendar": record.calendar,
        "period": record.period,
        "status": record.status,
        "who": record.who or None,
        "when": None if record.changed_at is None else record.changed_at.isoformat(),
        "why": record.reason or None,
        "history": [
            {"status": c.status, "previous": c.previous, "who": c.who, "when": c.at.isoformat(), "why": c.reason}
            for c in record.history
        ],
    }

"""The command `airflow-runtime periods`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from airflow_provider_runtime.cli.completion import complete_periods
from airflow_provider_runtime.cli.credentials import read_properties
from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    print_json,
    registry_option,
)
from airflow_provider_runtime.cli.people import find_user
from airflow_provider_runtime.cli.registries import choose_registry, require_catalog
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.calendar.periods import PeriodIndex, make_period_index
from airflow_provider_runtime.core.calendar.run_period import STRICTNESS, explain_reopening, find_strictest
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError, Problem, raise_problems
from airflow_provider_runtime.core.model.period import Calendar, Period, PeriodStatus
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.registry.ports import PeriodRecord, Registry
from airflow_provider_runtime.core.runs.lock_marks import leave_lock_marks, make_mark


@click.command("periods")
@catalog_option
@registry_option()
@click.option("--calendar", metavar="C", default="gregorian", show_default=True, help="Id of a calendar.")
@click.option(
    "--close", metavar="PERIOD", shell_complete=complete_periods, help="Close a period: runs need --allow-closed."
)
@click.option("--lock", metavar="PERIOD", shell_complete=complete_periods, help="Lock a period for ever.")
@click.option("--reopen", metavar="PERIOD", shell_complete=complete_periods, help="Open a closed period again.")
@click.option("--reason", metavar="TEXT", help="Reason; required with every change.")
@format_option("text", "json")
def command(
    catalog: Path,
    registry: str | None,
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
    definition = _load_calendar(catalog, calendar)
    index = make_period_index(definition)
    if changes and registry is None:
        require_catalog(catalog)
    # A period that does not exist is refused before a registry is made for it.
    found = [(status, index.get_period(period)) for status, period in changes]
    choice = choose_registry(registry, catalog)
    opened = choice.open() if changes else choice.open_to_read()
    for status, period in found:
        _change(opened, choice.snapshots, index, period, status, (reason or "").strip(), quiet=output_format == "json")
    _print(_list_periods(opened, definition, index), output_format)


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
    registry: Registry,
    snapshots: RunSnapshots,
    index: PeriodIndex,
    period: Period,
    status: PeriodStatus,
    reason: str,
    *,
    quiet: bool,
) -> None:
    if period.status == "locked" and status != "locked":
        message = f"period {period.identifier} of calendar '{index.calendar_id}' is locked in the calendar's file"
        raise PeriodError(Problem("PERIOD_002", message, "a locked period never changes again"))
    if status == "open":
        _check_reopening(registry, index, period)
    update = registry.set_period_status(index.calendar_id, period.identifier, status, who=find_user(), reason=reason)
    for run in () if quiet else update.revoked:
        click.echo(f"revoked: run {run.run_id} of {run.project_name} will publish nothing", err=True)
    if status == "locked":
        mark = make_mark(find_user(), reason)
        place = (index.calendar_id, period.identifier)
        unmarked = leave_lock_marks(registry, snapshots, *place, mark, read_properties)
        for unseen in () if quiet else unmarked:
            click.echo(f"the runs of other registries do not see the lock at {unseen}", err=True)


def _check_reopening(registry: Registry, index: PeriodIndex, period: Period) -> None:
    """Refuse what would change nothing: a period that its calendar's file, or one that it is part of, keeps closed."""
    for holder in (period, *index.list_holders(period)):
        found = find_strictest(index, holder, None if holder == period else registry)
        if found.status == "open":
            continue
        inside = "" if found.period == period else f" is part of {found.period.identifier}, which"
        message = f"period {period.identifier}{inside} is {found.status}{found.by}: reopening it would change nothing"
        locked = "a locked period never changes again"
        hint = locked if found.status == "locked" else f"first {explain_reopening(index, found)}"
        raise PeriodError(Problem("PERIOD_002", message, hint))


@dataclass(frozen=True, slots=True)
class _Shown:
    """A period's own record, and the one that holds for it: its own, or that of a period that it is part of."""

    own: PeriodRecord
    holding: PeriodRecord

    @property
    def holder(self) -> str:
        """The period that sets the status; empty when it is the period itself."""
        return "" if self.holding.period == self.own.period else self.holding.period


def _list_periods(registry: Registry, calendar: Calendar, index: PeriodIndex) -> list[_Shown]:
    known = {record.period: record for record in registry.list_periods(calendar.id)}
    names = dict.fromkeys([*(period.identifier for period in calendar.periods), *known])
    listed = []
    for name in names:
        period = index.find_period(name)
        holders = (period, *index.list_holders(period)) if period is not None else ()
        records = [_combine(calendar.id, holder, known.get(holder.identifier)) for holder in holders]
        own, *above = records or [known[name]]
        holding = max([own, *above], key=lambda record: STRICTNESS[record.status])
        listed.append(_Shown(own, holding))
    return listed


def _combine(calendar: str, period: Period, record: PeriodRecord | None) -> PeriodRecord:
    """Return the stricter of what the calendar's file and the registry say of a period."""
    found = record or PeriodRecord(calendar, period.identifier, "open")
    if STRICTNESS[period.status] <= STRICTNESS[found.status]:
        return found
    return PeriodRecord(calendar, period.identifier, period.status, "", "calendar file", None, found.history)


def _print(periods: list[_Shown], output_format: str) -> None:
    if output_format == "json":
        print_json([_describe(shown.own, shown.holding, shown.holder) for shown in periods])
        return
    held = [(shown.own.period, shown.holding, shown.holder) for shown in periods]
    rows = [(period, r.status, holder, r.who, r.changed_at, r.reason) for period, r, holder in held]
    titles = ("period", "status", "of", "who", "when (UTC)", "why")
    print_table(titles, rows, empty="every period is open", optional=("of",))
    changes = sorted(
        ((change.at, shown.own.period, change) for shown in periods for change in shown.own.history),
        key=lambda entry: entry[:2],
    )
    if len(changes) > len({period for _, period, _ in changes}):
        click.echo("\nall changes:")
        history = [(at, period, found.previous, found.status, found.who, found.reason) for at, period, found in changes]
        print_table(("when (UTC)", "period", "from", "to", "who", "why"), history, empty="")


def _describe(own: PeriodRecord, record: PeriodRecord, holder: str) -> dict[str, object]:
    return {
        "calendar": own.calendar,
        "period": own.period,
        "status": record.status,
        "own_status": own.status,
        "status_of": holder or own.period,
        "who": record.who or None,
        "when": None if record.changed_at is None else record.changed_at.isoformat(),
        "why": record.reason or None,
        "history": [
            {"status": c.status, "previous": c.previous, "who": c.who, "when": c.at.isoformat(), "why": c.reason}
            for c in own.history
        ],
    }

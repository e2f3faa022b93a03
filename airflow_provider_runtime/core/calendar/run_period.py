"""The period of a run: found in the project's calendar, and allowed to be run now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from airflow_provider_runtime.core.calendar.periods import PeriodIndex, make_period_index
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError, Problem
from airflow_provider_runtime.core.model.period import GREGORIAN, Period, PeriodStatus
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.suggest import suggest

_STRICTNESS: tuple[PeriodStatus, ...] = ("open", "closed", "locked")


@dataclass(frozen=True, slots=True)
class PeriodRules:
    """What is asked of a period before it may be run."""

    allow_closed: bool = False
    require_begun: bool = False
    require_ended: bool = False


@dataclass(frozen=True, slots=True)
class FoundStatus:
    """A status, the period that has it, and who set it for what reason if somebody did."""

    status: PeriodStatus
    period: Period
    by: str = ""
    in_file: bool = False


def get_project_periods(catalog: Catalog, project: Definition[Project]) -> PeriodIndex:
    """Return the periods of a project's calendar; CATALOG_004 when the calendar or the level is not known."""
    model = project.model
    calendar = catalog.find_calendar(model.calendar)
    if calendar is None:
        hint = suggest(model.calendar, ["gregorian", *catalog.calendars])
        place = project.locate("calendar")
        raise DefinitionError(Problem("CATALOG_004", f"calendar '{model.calendar}' not found", hint, place))
    index = make_period_index(calendar.model)
    if model.level not in index.levels:
        message = f"the calendar '{model.calendar}' has no level '{model.level}'"
        place = project.locate("level")
        raise DefinitionError(Problem("CATALOG_004", message, suggest(model.level, index.levels), place))
    return index


def list_period_problems(
    index: PeriodIndex, period: Period, rules: PeriodRules, *, registry: Registry | None, today: date
) -> list[Problem]:
    """Return why a period may not be run: closed or locked, not begun, not ended."""
    problems = []
    found = find_strictest(index, period, registry)
    inside = "" if found.period == period else f" lies in {found.period.identifier}, which"
    message = f"period {period.identifier}{inside} is {found.status}{found.by}"
    if found.status == "locked":
        problems.append(Problem("PERIOD_002", message, "locked is final"))
    elif found.status == "closed" and not rules.allow_closed:
        hint = f"{explain_reopening(index, found)}, or run with --allow-closed"
        problems.append(Problem("PERIOD_002", message, hint))
    if rules.require_begun and today < period.start_date:
        message = f"period {period.identifier} has not begun: it starts on {period.start_date}"
        problems.append(Problem("PERIOD_003", message, "choose an earlier period"))
    elif rules.require_ended and today <= period.end_date:
        message = f"period {period.identifier} has not ended: its last day is {period.end_date}"
        problems.append(Problem("PERIOD_004", message, "wait until it is over, or set allow_open_period"))
    return problems


def get_settings(snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a snapshot's plan; one from elsewhere may have none."""
    return snapshot["plan"].get("settings") or {}


def get_calendar_name(snapshot: Mapping[str, Any]) -> str:
    """Return the name of a snapshot's calendar."""
    return str(get_settings(snapshot).get("calendar") or GREGORIAN.id)


def list_problems_since(catalog: Catalog, snapshot: Mapping[str, Any], *, allow_closed: bool) -> list[Problem]:
    """Return why the period of a snapshot may not be run any more, by what its calendar's file says now."""
    calendar = catalog.find_calendar(get_calendar_name(snapshot))
    index = make_period_index(calendar.model) if calendar is not None else None
    period = index.find_period(snapshot["period"]["identifier"], snapshot["period"]["level"]) if index else None
    if index is None or period is None:
        return []
    rules = PeriodRules(allow_closed=allow_closed or get_settings(snapshot).get("allow_closed", False))
    return list_period_problems(index, period, rules, registry=None, today=period.end_date)


def find_strictest(index: PeriodIndex, period: Period, registry: Registry | None) -> FoundStatus:
    """Return the strictest status of a period and of those that it lies in, in file and registry."""
    found = []
    for holder in (period, *index.list_holders(period)):
        found.append(FoundStatus(holder.status, holder, " in the calendar's file", in_file=True))
        if registry is not None:
            record = registry.get_period(index.calendar_id, holder.identifier)
            found.append(FoundStatus(record.status, holder, f" by {record.who}: {record.reason}"))
    return max(found, key=lambda item: _STRICTNESS.index(item.status))


def explain_reopening(index: PeriodIndex, found: FoundStatus) -> str:
    """Say how a closed period is opened again."""
    if found.in_file:
        return f"set the status of {found.period.identifier} in the file of calendar '{index.calendar_id}'"
    calendar = "" if index.calendar_id == GREGORIAN.id else f" --calendar {index.calendar_id}"
    return f"reopen {found.period.identifier} with `airflow-runtime periods{calendar} --reopen`"


def get_moment_after(period: Period) -> datetime:
    """Return the first moment after a period; PERIOD_001 when it ends on the last day that there is."""
    if period.end_date == date.max:
        raise PeriodError(Problem("PERIOD_001", f"there is no day after period {period.identifier}", "choose another"))
    return datetime.combine(period.end_date + timedelta(days=1), time(), UTC)


def get_run_period(index: PeriodIndex, identifier: str, project: Definition[Project]) -> Period:
    """Return the period with this identifier at the project's level, or raise PERIOD_001."""
    try:
        return index.get_period(identifier, project.model.level)
    except PeriodError as error:
        place = project.locate("level")
        raise PeriodError(
            problem.at(
                file=place.file,
                line=place.line,
                column=place.column,
                source_line=place.source_line,
                project=project.model.name,
            )
            for problem in error.problems
        ) from error

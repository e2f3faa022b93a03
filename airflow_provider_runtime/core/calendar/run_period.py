"""Whether a period may be run: its status, and whether it has begun and ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Protocol

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.errors import PeriodError, Problem
from airflow_provider_runtime.core.model.period import GREGORIAN, Period, PeriodStatus

Surface = Literal["command line", "airflow"]
"""Where the hint is shown."""
STRICTNESS: dict[PeriodStatus, int] = {"open": 0, "closed": 1, "locked": 2}


class StatusRecord(Protocol):
    """The status of a period, with who set it and why."""

    @property
    def status(self) -> PeriodStatus:
        """The status."""

    @property
    def who(self) -> str:
        """Who set it."""

    @property
    def reason(self) -> str:
        """Why."""


class StatusReader(Protocol):
    """What knows the status of periods beside the calendar's file: the registry."""

    def get_period(self, calendar: str, period: str) -> StatusRecord:
        """Return the status of a period."""


@dataclass(frozen=True, slots=True)
class PeriodRules:
    """What is asked of a period before it may be run."""

    allow_closed: bool = False
    require_begun: bool = False
    require_ended: bool = False
    asked_in: Surface = "command line"


@dataclass(frozen=True, slots=True)
class FoundStatus:
    """A status, the period that has it, and who set it for what reason if somebody did."""

    status: PeriodStatus
    period: Period
    by: str = ""
    in_file: bool = False


def list_period_problems(
    index: PeriodIndex, period: Period, rules: PeriodRules, *, registry: StatusReader | None, today: date
) -> list[Problem]:
    """Return why a period may not be run: closed or locked, not begun, not ended."""
    problems = []
    found = find_strictest(index, period, registry)
    inside = "" if found.period == period else f" is part of {found.period.identifier}, which"
    message = f"period {period.identifier}{inside} is {found.status}{found.by}"
    if found.status == "locked":
        problems.append(Problem("PERIOD_002", message, "locked is final"))
    elif found.status == "closed" and not rules.allow_closed:
        way = "run with --allow-closed"
        if rules.asked_in == "airflow":
            way = "let the project's airflow block say `allow_closed: true`"
        hint = f"{explain_reopening(index, found, rules.asked_in)}, or {way}"
        problems.append(Problem("PERIOD_002", message, hint))
    if rules.require_begun and not has_begun(period, today):
        message = f"period {period.identifier} has not begun: it starts on {period.start_date}"
        problems.append(Problem("PERIOD_003", message, "choose an earlier period"))
    elif rules.require_ended and not has_ended(period, today):
        message = f"period {period.identifier} has not ended: its last day is {period.end_date}"
        problems.append(Problem("PERIOD_004", message, "wait until it is over, or set allow_open_period"))
    return problems


def has_begun(period: Period, today: date) -> bool:
    """Whether a period's first day has come."""
    return period.start_date <= today


def has_ended(period: Period, today: date) -> bool:
    """Whether a period's last day is over."""
    return period.end_date < today


def find_strictest(index: PeriodIndex, period: Period, registry: StatusReader | None) -> FoundStatus:
    """Return the strictest status of a period and of those that it is part of, in file and registry."""
    found = []
    for holder in (period, *index.list_holders(period)):
        found.append(FoundStatus(holder.status, holder, " in the calendar's file", in_file=True))
        if registry is not None:
            record = registry.get_period(index.calendar_id, holder.identifier)
            found.append(FoundStatus(record.status, holder, f" by {record.who}: {record.reason}"))
    return max(found, key=lambda item: STRICTNESS[item.status])


def explain_reopening(index: PeriodIndex, found: FoundStatus, asked_in: Surface = "command line") -> str:
    """Say how a closed period is opened again."""
    if found.in_file:
        return f"set the status of {found.period.identifier} in the file of calendar '{index.calendar_id}'"
    calendar = "" if index.calendar_id == GREGORIAN.id else f" --calendar {index.calendar_id}"
    period = found.period.identifier
    command = f"`airflow-runtime periods{calendar} --reopen {period} --reason TEXT"
    if asked_in == "airflow":
        return f"reopen {period} on Airflow's page Periods, or with {command} --registry URL` and the connection's URL"
    return f"reopen {period} with {command}` (and --registry, if you gave one here)"


def get_timestamp_after(period: Period) -> datetime:
    """Return the midnight after a period; PERIOD_001 when it ends on the last day that there is."""
    if period.end_date == date.max:
        raise PeriodError(Problem("PERIOD_001", f"there is no day after period {period.identifier}", "choose another"))
    return datetime.combine(period.end_date + timedelta(days=1), time(), UTC)

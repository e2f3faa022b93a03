"""A project's airflow block: schedule, start date, timezone and durations. DAG files check it by these rules too."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.base import read_as_date
from airflow_provider_runtime.core.model.duration import DURATION_HINT, parse_duration
from airflow_provider_runtime.core.model.project import SCHEDULE_WORDS, AirflowSettings, Deadline, Project

Fault = tuple[str, str]
"""Message and hint."""


def check_airflow(definition: Definition[Project]) -> list[Problem]:
    """Return what is wrong with a project's airflow block."""
    airflow = definition.model.airflow
    if airflow is None:
        return []
    found = [(path, check(text)) for path, text, check in _list_texts(airflow) if text is not None]
    if airflow.deadline is not None:
        found.append((("airflow", "deadline"), _check_deadline(airflow.deadline)))
    return [Problem("CATALOG_002", *fault, definition.locate(*path)) for path, fault in found if fault is not None]


def _list_texts(airflow: AirflowSettings) -> list[tuple[Path, str | None, Callable[[str], Fault | None]]]:
    deadline, wait = airflow.deadline or Deadline(), airflow.wait_for_data
    return [
        (("airflow", "schedule"), airflow.schedule, _check_schedule),
        (("airflow", "start_date"), airflow.start_date, _check_start_date),
        (("airflow", "timezone"), airflow.timezone, _check_timezone),
        (("airflow", "retry_delay"), airflow.retry_delay, _check_duration),
        (("airflow", "wait_for_data", "up_to"), wait.up_to if wait else None, _check_duration),
        (("airflow", "wait_for_data", "every"), wait.every if wait else None, _check_duration),
        (("airflow", "deadline", "after_period_end"), deadline.after_period_end, _check_duration),
        (("airflow", "deadline", "after_queued"), deadline.after_queued, _check_duration),
    ]


def _check_schedule(text: str) -> Fault | None:
    if text in SCHEDULE_WORDS:
        return None
    # Imported here, since most projects need none of it.
    from airflow_provider_runtime.core.calendar.cron import find_cron_fault

    fault = find_cron_fault(text)
    hint = f"write {', '.join(SCHEDULE_WORDS)}, null, or a cron expression such as '0 6 3 * *' or @monthly"
    return None if fault is None else (fault, hint)


def _check_start_date(text: str) -> Fault | None:
    try:
        read_as_date(text)
    except ValueError:
        return f"'{text[:60]}' is not a date", "write an existing day as YYYY-MM-DD"
    return None


def _check_timezone(text: str) -> Fault | None:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        return f"unknown time zone '{text[:60]}'", "write a name such as UTC or Europe/Berlin"
    return None


def _check_duration(text: str) -> Fault | None:
    try:
        parse_duration(text)
    except ValueError:
        return f"'{text[:60]}' is not a duration", DURATION_HINT
    return None


def _check_deadline(deadline: Deadline) -> Fault | None:
    if (deadline.after_period_end is None) == (deadline.after_queued is None):
        return "a deadline has either after_period_end or after_queued", "for example {after_period_end: 3d}"
    return None

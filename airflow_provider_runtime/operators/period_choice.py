"""Which period a DAG run is for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.errors import PeriodError, Problem


def choose_period(context: Mapping[str, Any], index: PeriodIndex, level: str, explicit: str | None) -> str:
    """Return a period's identifier: the operator's, the partition key, the form's, or the one of the logical date."""
    if (given := find_given_period(context, explicit)) is not None:
        return given
    moment = context.get("logical_date")
    if isinstance(moment, datetime):
        period = index.find_by_date(moment.date(), level)
        if period is None:
            message = f"no {level} of the calendar {index.calendar_id!r} holds the logical date {moment.date()}"
            raise PeriodError(Problem("PERIOD_001", message, "choose a period in the trigger form"))
        return period.identifier
    hint = "trigger the run with a partition key, or choose a period in the trigger form"
    raise PeriodError(
        Problem("PERIOD_001", "the run has no period: no partition key, no period, no logical date", hint)
    )


def find_given_period(context: Mapping[str, Any], explicit: str | None) -> str | None:
    """Return the period that the operator, the partition key or the trigger form names; None when none does."""
    for candidate in (explicit, _get_partition_key(context), (context.get("params") or {}).get("period")):
        if candidate is not None and str(candidate).strip() not in {"", "None"}:
            return str(candidate).strip()
    return None


def read_day(text: str | date | None, name: str) -> date | None:
    """Return a day that was given as a date or as ISO text; None stays None."""
    if isinstance(text, datetime):
        return text.date()
    if text is None or isinstance(text, date):
        return text
    if text.strip() in {"", "None"}:
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise PeriodError(Problem("PERIOD_001", f"{name} '{text}' is not a date", "write it like 2026-01-31")) from None


def _get_partition_key(context: Mapping[str, Any]) -> str | None:
    key = context.get("partition_key")
    if key is None:
        key = getattr(context.get("dag_run"), "partition_key", None)
    return None if key is None else str(key)

"""When a period is due to be published."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from airflow_provider_runtime.core.calendar.moments import compute_period_end
from airflow_provider_runtime.core.model.duration import parse_duration
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project


def find_due(project: Project, period: Period) -> datetime | None:
    """Return when a period is due to be published; None where no deadline counts from its end, or none can be told."""
    settings = project.airflow
    allowed = settings.deadline.after_period_end if settings is not None and settings.deadline is not None else None
    if settings is None or allowed is None:
        return None
    try:
        end = compute_period_end(period, ZoneInfo(settings.timezone or "UTC"))
        return (end + parse_duration(allowed)).astimezone(UTC)
    except OverflowError:
        # The calendar of dates ends with the year 9999.
        return None

"""What is constant in a run, so that running its snapshot again gives the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from airflow_provider_runtime.core.model.period import Period


@dataclass(frozen=True, slots=True)
class RunConstants:
    """The run's timestamp and its period."""

    timestamp: datetime
    period_id: str
    period_start: date
    period_end: date
    previous_period_id: str | None = None

    @classmethod
    def of(cls, timestamp: datetime, period: Period, previous: Period | None) -> RunConstants:
        """Return the constants of a run for a period, with the period before it if the calendar has one."""
        before = previous.identifier if previous else None
        return cls(timestamp.astimezone(UTC), period.identifier, period.start_date, period.end_date, before)

"""When a period begins and ends, where its days begin at midnight."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from airflow_provider_runtime.core.model.period import Period

_ONE_DAY = timedelta(days=1)


def compute_period_start(period: Period, timezone: ZoneInfo) -> datetime:
    """Return the moment at which a period begins."""
    return datetime.combine(period.start_date, time.min, tzinfo=timezone)


def compute_period_end(period: Period, timezone: ZoneInfo) -> datetime:
    """Return the moment at which a period is over: midnight after its last day."""
    return datetime.combine(period.end_date + _ONE_DAY, time.min, tzinfo=timezone)

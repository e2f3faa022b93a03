"""Cron expressions, by the one grammar that the scheduler follows too: croniter's."""

from __future__ import annotations

from datetime import UTC, datetime

from croniter import CroniterError, croniter  # type: ignore[import-untyped]


def find_cron_fault(text: str) -> str | None:
    """Return why a text is not a cron expression that the scheduler can follow; None when it is."""
    if not croniter.is_valid(text):
        return f"'{text[:60]}' is not a cron expression"
    try:
        croniter(text, datetime(2000, 1, 1, tzinfo=UTC)).get_next()
    except CroniterError:
        return f"the cron expression '{text[:60]}' never matches"
    return None

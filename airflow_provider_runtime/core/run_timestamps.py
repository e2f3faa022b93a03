"""Timestamps of runs: as they are read, and as documents have them."""

from __future__ import annotations

from datetime import UTC, datetime

EXAMPLE = "2026-02-01T00:00:00Z"
FIRST_TIMESTAMP = datetime(1970, 1, 1, tzinfo=UTC)
"""Row ids count the milliseconds since then, so that no run can be earlier."""


def format_timestamp(moment: datetime) -> str:
    """Return a timestamp in UTC, in whole seconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def read_run_timestamp(text: str) -> datetime:
    """Return the timestamp that a text in ISO form stands for, UTC without a zone; ValueError says what is wrong."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a timestamp; write it like {EXAMPLE}") from None
    if moment.microsecond:
        raise ValueError(f"'{text}' has a fraction of a second; a run's timestamp has whole seconds, like {EXAMPLE}")
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"'{text}' is outside the years 1970 to 9999 in UTC") from None
    if moment < FIRST_TIMESTAMP:
        raise ValueError(f"'{text}' is before 1970; a run cannot be that early")
    return moment

"""How an attempt learns that a newer one has taken its place, and when a clock may be to blame."""

from __future__ import annotations

import time
from datetime import UTC, datetime

CLOCK_SECONDS = 60.0
"""How far the clocks of two machines may differ before a message blames one."""
FIRST_TIME, LAST_TIME = 1_000_000_000_000, 100_000_000_000_000
"""Tokens between these are milliseconds since 1970."""


def is_blamed_on_clock(newer: int | None, *, has_ended: bool = False) -> bool:
    """Tell whether a newer attempt cannot be one that is at work now."""
    return newer is not None and (has_ended or newer > (time.time() + CLOCK_SECONDS) * 1000)


def explain_replaced(token: int, newer: int | None = None, *, has_ended: bool = False) -> tuple[str, str | None]:
    """Return message and hint for an attempt that a newer one has taken the place of."""
    if newer is None or not is_blamed_on_clock(newer, has_ended=has_ended):
        by = f" {newer}" if newer is not None else ""
        return f"attempt {token} was replaced by a newer one{by} and publishes nothing", None
    state = "has ended" if has_ended else "is from the future"
    message = (
        f"attempt {token}{_show_time(token)} was replaced by a newer one {newer}{_show_time(newer)}, which {state}:"
        " a clock was probably ahead when that one began, or it belongs to another registry"
    )
    hint = "`airflow-runtime runs --release PROJECT PERIOD --reason TEXT` lets the next attempt take a newer number"
    return message, hint


def _show_time(token: int) -> str:
    """Return the time that a token was made of, where it was one."""
    if not FIRST_TIME < token < LAST_TIME:
        return ""
    return f" (at {datetime.fromtimestamp(token / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC)"

"""Durations as people write them: 90s, 15m, 2h, 3d, 1w, or some of these in a row."""

from __future__ import annotations

import re
from datetime import timedelta

UNITS = {"w": 7 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:[0-9]{1,6}[wdhms])+")
WORDS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
PART = re.compile(r"([0-9]+)([wdhms])")
DURATION_HINT = "write a number and a unit: 90s, 15m, 2h, 3d, 1w"


def parse_duration(text: str) -> timedelta:
    """Return the length of a duration; ValueError if the text is not one, or zero."""
    if not DURATION.fullmatch(text):
        raise ValueError(text)
    seconds = sum(int(count) * UNITS[unit] for count, unit in PART.findall(text))
    if not 0 < seconds < 86400 * 36525:
        raise ValueError(text)
    return timedelta(seconds=seconds)


def describe_duration(text: str) -> str:
    """Return a duration in words: 3 days, 1 day 12 hours."""
    parts = ((int(count), WORDS[unit]) for count, unit in PART.findall(text))
    return " ".join(f"{count} {word}" + ("" if count == 1 else "s") for count, word in parts)

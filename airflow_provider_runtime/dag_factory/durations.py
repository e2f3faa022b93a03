"""Lengths of time as people write them: 3d, 2h, 1d12h, 30m."""

from __future__ import annotations

import re
from datetime import timedelta

from airflow_provider_runtime.core.errors import DefinitionError, Place, Problem

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PATTERN = re.compile(r"(\d+)\s*([wdhms])")


def parse_duration(text: str, place: Place) -> timedelta:
    """Return the length of time that a text says, or raise CATALOG_002 at its place."""
    compact = text.strip().lower()
    parts = _PATTERN.findall(compact)
    if not parts or _PATTERN.sub("", compact).strip():
        raise DefinitionError(Problem("CATALOG_002", f"'{text}' is no length of time", "write it like 3d or 2h", place))
    return sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())

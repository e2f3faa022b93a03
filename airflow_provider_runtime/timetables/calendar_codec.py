"""A calendar as JSON, for timetables, mappers and deadlines that Airflow stores with the DAG.

The status of periods is left out: closing a period must not make a new version of every DAG.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

from airflow_provider_runtime.core.calendar.periods import PeriodIndex, make_period_index
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar, Level, Period

CalendarData = dict[str, Any]


def encode_calendar(calendar: Calendar) -> CalendarData:
    """Return a calendar as JSON can hold it; the built-in one is only named."""
    if calendar.id == GREGORIAN.id and not calendar.periods:
        return {"id": calendar.id}
    return {
        "id": calendar.id,
        "levels": [[level.name, level.parent_level] for level in calendar.levels],
        "periods": [
            [p.identifier, p.level, p.parent, p.start_date.isoformat(), p.end_date.isoformat()]
            for p in calendar.periods
        ],
    }


def decode_calendar(data: CalendarData) -> Calendar:
    """Return the calendar that was encoded."""
    if "periods" not in data:
        return GREGORIAN
    return Calendar(
        id=data["id"],
        levels=tuple(Level(name=name, parent_level=parent) for name, parent in data["levels"]),
        periods=tuple(
            Period(
                identifier=identifier,
                level=level,
                parent=parent,
                start_date=date.fromisoformat(start),
                end_date=date.fromisoformat(end),
            )
            for identifier, level, parent, start, end in data["periods"]
        ),
    )


@lru_cache(maxsize=64)
def get_period_index(calendar: Calendar) -> PeriodIndex:
    """Return the index of a calendar, made once for equal calendars."""
    return make_period_index(calendar)

"""How the keys of upstream periods become keys of a project's own periods.

Airflow asks in both directions: which runs an event feeds (the mapper), and which events a run waits for (the window).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from airflow.partition_mappers.base import PartitionMapper
from airflow.partition_mappers.window import Window

from airflow_provider_runtime.core.calendar.moments import compute_period_start
from airflow_provider_runtime.core.errors import PeriodError
from airflow_provider_runtime.core.model.period import Calendar, Period
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar, encode_calendar, get_period_index


class PeriodMapper(PartitionMapper):
    """Maps a period of one level to the period, or the periods, of another level of the same calendar."""

    expected_decoded_type: ClassVar[type] = str

    def __init__(
        self,
        *,
        calendar: Calendar,
        upstream_level: str,
        level: str,
        timezone: str = "UTC",
        max_downstream_keys: int | None = None,
    ) -> None:
        super().__init__(max_downstream_keys=max_downstream_keys)
        self.calendar = calendar
        self.upstream_level = upstream_level
        self.level = level
        self._zone = ZoneInfo(timezone)

    def to_downstream(self, key: str) -> str | Iterable[str]:
        """Return the key of the run that an upstream period feeds; several if the upstream level is the coarser one."""
        index = get_period_index(self.calendar)
        period = _get_period(self.calendar, key, self.upstream_level)
        found = [other.identifier for other in index.list_at(period, self.level)]
        if index.is_finer(self.level, self.upstream_level):
            return found
        if not found:
            raise ValueError(f"the {self.upstream_level} {key} belongs to no {self.level}")
        return found[0]

    def to_partition_date(self, downstream_key: str) -> datetime.datetime | None:
        """Return when the run's period begins."""
        return compute_period_start(_get_period(self.calendar, downstream_key, self.level), self._zone)

    def serialize(self) -> dict[str, Any]:
        """Return what the DAG's stored form keeps of the mapper."""
        return super().serialize() | {
            "calendar": encode_calendar(self.calendar),
            "upstream_level": self.upstream_level,
            "level": self.level,
            "timezone": self._zone.key,
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> PeriodMapper:
        """Return the mapper that was stored."""
        return cls(
            calendar=decode_calendar(data["calendar"]),
            upstream_level=data["upstream_level"],
            level=data["level"],
            timezone=data["timezone"],
            max_downstream_keys=data.get("max_downstream_keys"),
        )


class ChildPeriodsWindow(Window):
    """The upstream periods that one period is made of."""

    expected_decoded_type: ClassVar[type] = str

    def __init__(self, *, calendar: Calendar, upstream_level: str, level: str) -> None:
        super().__init__()
        self.calendar = calendar
        self.upstream_level = upstream_level
        self.level = level

    def to_upstream(self, decoded_downstream: str) -> Iterable[str]:
        """Return the identifiers of the upstream periods inside a period."""
        period = _get_period(self.calendar, decoded_downstream, self.level)
        children = get_period_index(self.calendar).list_children(period, self.upstream_level)
        return [child.identifier for child in children]

    def serialize(self) -> dict[str, Any]:
        """Return what the DAG's stored form keeps of the window."""
        return {
            "calendar": encode_calendar(self.calendar),
            "upstream_level": self.upstream_level,
            "level": self.level,
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> ChildPeriodsWindow:
        """Return the window that was stored."""
        return cls(
            calendar=decode_calendar(data["calendar"]), upstream_level=data["upstream_level"], level=data["level"]
        )


def _get_period(calendar: Calendar, key: str, level: str) -> Period:
    try:
        return get_period_index(calendar).get_period(key, level)
    except PeriodError as error:
        raise ValueError(str(error)) from None

"""A timetable that makes one partitioned run for each period of a calendar, after the period's end."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from airflow.exceptions import InvalidPartitionKeyError
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable
from airflow.utils.types import DagRunType
from croniter import croniter  # type: ignore[import-untyped]
from pendulum import DateTime
from pendulum import instance as make_pendulum

from airflow_provider_runtime.core.calendar.cron import find_cron_fault
from airflow_provider_runtime.core.calendar.moments import compute_period_end, compute_period_start
from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.errors import PeriodError
from airflow_provider_runtime.core.model.period import Calendar, Period
from airflow_provider_runtime.timetables.calendar_codec import (
    decode_calendar,
    encode_calendar,
    get_period_index,
)

_UTC = datetime.UTC


class PeriodTimetable(Timetable):
    """One partitioned run a period: its key is the period's identifier, its partition date the period's first day.

    The scheduler makes a run when the period is over. A backfill gets the periods that start inside its dates and have
    ended, so that no run is parked in the future; with ``allow_open_period`` those that have begun.
    """

    partitioned = True
    periodic = True
    can_be_scheduled = True
    run_ordering = ("partition_date", "run_after")

    def __init__(
        self,
        calendar: Calendar,
        level: str,
        *,
        timezone: str = "UTC",
        allow_open_period: bool = False,
        cron: str | None = None,
    ) -> None:
        self.calendar = calendar
        self.level = level
        self.allow_open_period = allow_open_period
        self.cron = cron
        self._zone = ZoneInfo(timezone)
        if cron is not None and (fault := find_cron_fault(cron)):
            raise ValueError(fault)
        if level not in self._index.levels:
            raise ValueError(f"the calendar {calendar.id!r} has no level {level!r}")
        when = f"At {cron}, for the latest" if cron else "After each"
        self.description = f"{when} {level} of the calendar {calendar.id}"

    @property
    def summary(self) -> str:
        """Text that the UI shows as the schedule."""
        return f"{self.cron or 'each'} {self.level} ({self.calendar.id})"

    @property
    def _index(self) -> PeriodIndex:
        return get_period_index(self.calendar)

    def serialize(self) -> dict[str, Any]:
        """Return what the DAG's stored form keeps of the timetable."""
        return {
            "calendar": encode_calendar(self.calendar),
            "level": self.level,
            "timezone": self._zone.key,
            "allow_open_period": self.allow_open_period,
            "cron": self.cron,
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> PeriodTimetable:
        """Return the timetable that was stored."""
        return cls(
            decode_calendar(data["calendar"]),
            data["level"],
            timezone=data["timezone"],
            allow_open_period=data["allow_open_period"],
            cron=data.get("cron"),
        )

    def localize_partition_datetime(self, dt: datetime.datetime) -> DateTime:
        """Read the wall clock of a date that a user gave in the timetable's timezone."""
        return _to_utc(dt.replace(tzinfo=self._zone))

    def iter_partition_dagrun_infos(
        self, *, earliest: datetime.datetime, latest: datetime.datetime
    ) -> Iterable[DagRunInfo]:
        """Yield the runs of the periods that start inside the dates of a backfill and are over."""
        now = datetime.datetime.now(_UTC)
        for period in self._iterate(earliest, latest):
            info = self._make_info(period)
            if (
                self.allow_open_period
                and info.partition_date is not None
                and info.partition_date <= now < info.run_after
            ):
                yield info._replace(run_after=info.partition_date)
            elif info.run_after <= now:
                yield info

    def _iterate(self, earliest: datetime.datetime, latest: datetime.datetime) -> Iterator[Period]:
        first = earliest.date() if earliest.time() == datetime.time.min else earliest.date() + datetime.timedelta(1)
        return self._index.iterate(self.level, first, latest.date())

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """Return the first run that the restriction allows; Airflow asks the newer method below."""
        del last_automated_data_interval
        return self.next_dagrun_info_v2(last_dagrun_info=None, restriction=restriction)

    def next_dagrun_info_v2(
        self, *, last_dagrun_info: DagRunInfo | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """Return the run of the next period, or None when the calendar holds no more."""
        if self.cron is not None:
            return self._make_cron_info(last_dagrun_info, restriction)
        period = self._find_next(last_dagrun_info, restriction)
        if period is None:
            return None
        info = self._make_info(period)
        if (
            restriction.latest is not None
            and info.partition_date is not None
            and info.partition_date > restriction.latest
        ):
            return None
        return info

    def _find_next(self, last: DagRunInfo | None, restriction: TimeRestriction) -> Period | None:
        starts: list[datetime.date] = []
        if last is not None and (previous := self._find_period_of(last)) is not None:
            starts.append(previous.end_date + datetime.timedelta(days=1))
        elif restriction.earliest is not None:
            starts.append(restriction.earliest.astimezone(self._zone).date())
        if not restriction.catchup:
            starts.append(self._find_latest_ended_start())
        return next(self._index.iterate(self.level, max(starts), datetime.date.max), None) if starts else None

    def _make_cron_info(self, last: DagRunInfo | None, restriction: TimeRestriction) -> DagRunInfo | None:
        """Return the run of the next tick, for the latest period that is over then (or, if allowed, the open one)."""
        now = datetime.datetime.now(self._zone)
        ticks = [] if restriction.catchup and (last or restriction.earliest) else [self._find_tick(now, forward=False)]
        if last is not None:
            ticks.append(self._find_tick(last.run_after))
        elif restriction.earliest is not None:
            ticks.append(self._find_tick(restriction.earliest - datetime.timedelta(seconds=1)))
        tick = max(ticks)
        period = self._find_period_at(tick)
        if period is None or (restriction.latest is not None and tick > restriction.latest):
            return None
        return self._make_info(period)._replace(run_after=_to_utc(tick))

    def _find_tick(self, moment: datetime.datetime, *, forward: bool = True) -> datetime.datetime:
        ticks = croniter(self.cron, moment.astimezone(self._zone))
        found: datetime.datetime = (ticks.get_next if forward else ticks.get_prev)(datetime.datetime)
        return found

    def _find_period_at(self, moment: datetime.datetime) -> Period | None:
        day = moment.astimezone(self._zone).date()
        current = self._index.find_by_date(day, self.level) if self.allow_open_period else None
        return current or self._index.find_last_ended(self.level, day)

    def _find_period_of(self, info: DagRunInfo) -> Period | None:
        if info.partition_key and (found := self._index.find_period(info.partition_key, self.level)):
            return found
        if info.partition_date is None:
            return None
        return self._index.find_by_date(info.partition_date.astimezone(self._zone).date(), self.level)

    def _find_latest_ended_start(self) -> datetime.date:
        """Return the first day of the newest period that is over, or today where there is none."""
        today = datetime.datetime.now(self._zone).date()
        ended = self._index.find_last_ended(self.level, today)
        return ended.start_date if ended else today

    def _make_info(self, period: Period) -> DagRunInfo:
        return DagRunInfo(
            run_after=_to_utc(compute_period_end(period, self._zone)),
            data_interval=None,
            partition_date=_to_utc(compute_period_start(period, self._zone)),
            partition_key=period.identifier,
        )

    def _decode_partition_date(self, partition_key: str) -> datetime.datetime:
        try:
            period = self._index.get_period(partition_key, self.level)
        except PeriodError as error:
            problem = error.problems[0]
            raise InvalidPartitionKeyError(f"{problem.message}; {problem.hint}") from None
        return _to_utc(compute_period_start(period, self._zone))

    def infer_manual_data_interval(self, *, run_after: DateTime) -> DataInterval:
        """Return an empty interval: periods take the place of data intervals."""
        return DataInterval.exact(run_after)

    def generate_run_id(
        self, *, run_type: DagRunType, run_after: DateTime, data_interval: DataInterval | None, **extra: Any
    ) -> str:
        """Return a run id with the period in it; a run that is repeated gets another."""
        del data_interval
        key = extra.get("partition_key")
        parts = [run_after.isoformat(), *([str(key)] if key else []), uuid4().hex[:8]]
        return str(run_type.generate_run_id(suffix="__".join(parts)))


def _to_utc(moment: datetime.datetime) -> DateTime:
    return make_pendulum(moment.astimezone(_UTC), tz="UTC")

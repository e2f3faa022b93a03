"""Which periods of a project a plan looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime

from airflow_provider_runtime.core.calendar.periods import RANGE_SEPARATOR, PeriodIndex
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project


def list_in_range(index: PeriodIndex, level: str, text: str) -> Iterator[Period]:
    """Yield the periods of a level that share a day with `X` or `X..Y`, whose own level may be another."""
    first_text, separator, last_text = text.partition(RANGE_SEPARATOR)
    first = index.find_period(first_text.strip())
    last = index.find_period(last_text.strip()) if separator else first
    if first is None or last is None or level not in index.levels or last.start_date < first.start_date:
        return
    holder = index.find_by_date(first.start_date, level)
    yield from index.iterate(level, holder.start_date if holder else first.start_date, last.end_date)


def list_due(index: PeriodIndex, level: str, ran: Iterable[str], start: date | None, today: date) -> Iterator[Period]:
    """Yield the periods that were run for, and all that have ended since the first of them or the start date."""
    known = {name: period for name in ran if (period := index.find_period(name, level)) is not None}
    firsts = [period.start_date for period in known.values()] + ([] if start is None else [start])
    ended = index.find_last_ended(level, today)
    if ended is not None:
        for period in index.iterate(level, min(firsts, default=ended.start_date), ended.start_date):
            known.setdefault(period.identifier, period)
    yield from sorted(known.values(), key=lambda period: period.start_date)


def find_start(project: Project) -> date | None:
    """Return the day from which a project is scheduled."""
    text = project.airflow.start_date if project.airflow is not None else None
    try:
        return None if text is None else datetime.fromisoformat(text).date()
    except ValueError:
        return None

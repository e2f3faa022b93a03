"""Periods of any calendar: found by identifier or day, with their parents, children and neighbours.

Runs in Airflow's scheduler and API server too, so nothing but the models and the standard library is imported here.
The built-in gregorian calendar is computed from identifiers and dates; explicit calendars are indexed once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice

from airflow_provider_runtime.core.errors import PeriodError, Problem
from airflow_provider_runtime.core.model.period import Calendar, Period

GREGORIAN_ID = "gregorian"
GREGORIAN_LEVELS = ("year", "quarter", "month", "day")
RANGE_SEPARATOR = ".."
MOST_IN_RANGE = 10_000
_SHOWN = 8
_LONGEST_SHOWN = 80


class PeriodIndex(ABC):
    """The periods of one calendar."""

    def __init__(self, calendar_id: str, levels: Sequence[str]) -> None:
        self.calendar_id = calendar_id
        self.levels = tuple(levels)

    # What a calendar has to know by itself

    @abstractmethod
    def _find_at(self, identifier: str, level: str) -> Period | None:
        """Return the period with this identifier at this level."""

    @abstractmethod
    def find_by_date(self, day: date, level: str) -> Period | None:
        """Return the period at this level that holds this day."""

    @abstractmethod
    def find_next(self, period: Period) -> Period | None:
        """Return the period that follows at the same level."""

    @abstractmethod
    def find_previous(self, period: Period) -> Period | None:
        """Return the period before at the same level."""

    @abstractmethod
    def find_parent(self, period: Period, level: str) -> Period | None:
        """Return the period of a coarser level that this one belongs to."""

    @abstractmethod
    def list_children(self, period: Period, level: str) -> tuple[Period, ...]:
        """Return the periods of a finer level that belong to this one, in order."""

    @abstractmethod
    def iterate(self, level: str, first: date, last: date) -> Iterator[Period]:
        """Yield the periods of a level that start on or between these days, in order."""

    @abstractmethod
    def _suggest(self, identifier: str, level: str | None) -> str:
        """Return a hint for an identifier that is not in the calendar."""

    # What follows from it

    def find_period(self, identifier: str, level: str | None = None) -> Period | None:
        """Return the period with this identifier, at the given level or at the coarsest that has one."""
        for candidate in self.levels if level is None else (level,):
            if candidate in self.levels and (period := self._find_at(identifier, candidate)):
                return period
        return None

    def get_period(self, identifier: str, level: str | None = None) -> Period:
        """Return the period with this identifier, or raise PERIOD_001 with a hint."""
        if level is not None:
            self._require_level(level)
        if period := self.find_period(identifier, level):
            return period
        if other := self.find_period(identifier):
            raise self._error(
                f"period {identifier!r} is a {other.level}, expected a {level}", self._hint_level(other, level)
            )
        what, shown = level or "period", identifier[:_LONGEST_SHOWN]
        hint = "name one period" if RANGE_SEPARATOR in shown else self._suggest(shown, level)
        raise self._error(f"{what} {shown!r} is not in the calendar {self.calendar_id!r}", hint)

    def find_shifted(self, period: Period, shift: int) -> Period | None:
        """Return the period so many periods later, or earlier (negative), at the same level."""
        found: Period | None = period
        for _ in range(-shift):
            found = self.find_previous(found) if found else None
        return found

    def find_last_ended(self, level: str, day: date) -> Period | None:
        """Return the latest period at a level whose last day is before a day."""
        current = self.find_by_date(day, level)
        if current is not None:
            return self.find_previous(current)
        ended = [period for period in self.iterate(level, date.min, day) if period.end_date < day]
        return ended[-1] if ended else None

    def list_at(self, period: Period, level: str) -> tuple[Period, ...]:
        """Return the periods of a level that make up a period, or the one that it is part of; itself at its own."""
        if self.is_finer(level, period.level):
            return self.list_children(period, level)
        parent = self.find_parent(period, level)
        return (parent,) if parent else ()

    def is_finer(self, level: str, than: str) -> bool:
        """Return whether a level is below another."""
        return self.levels.index(level) > self.levels.index(than)

    def list_holders(self, period: Period) -> tuple[Period, ...]:
        """Return the periods of all coarser levels that this one belongs to, the finest first."""
        coarser = [level for level in reversed(self.levels) if self.is_finer(period.level, level)]
        return tuple(found for level in coarser if (found := self.find_parent(period, level)))

    def list_range(self, text: str, level: str) -> tuple[Period, ...]:
        """Return the periods of `X`, or of `X..Y` with both ends, in order."""
        first_text, separator, last_text = text.partition(RANGE_SEPARATOR)
        if separator and not (first_text.strip() and last_text.strip()):
            shown = text[:_LONGEST_SHOWN]
            raise self._error(f"the range {shown!r} has only one end", "name the first and the last period: X..Y")
        first = self.get_period(first_text.strip(), level)
        if not separator:
            return (first,)
        last = self.get_period(last_text.strip(), level)
        if last.start_date < first.start_date:
            raise self._error(
                f"the range {text!r} ends before it begins",
                f"write {last.identifier}{RANGE_SEPARATOR}{first.identifier}",
            )
        found = tuple(islice(self.iterate(level, first.start_date, last.start_date), MOST_IN_RANGE + 1))
        if len(found) > MOST_IN_RANGE:
            message = f"the range {text!r} holds more than {MOST_IN_RANGE} periods"
            raise self._error(message, f"{first.identifier}{RANGE_SEPARATOR}{found[-2].identifier} would be the most")
        return found

    def _require_level(self, level: str) -> None:
        if level not in self.levels:
            known = ", ".join(self.levels)
            raise self._error(f"the calendar {self.calendar_id!r} has no level {level!r}", f"its levels are {known}")

    def _hint_level(self, other: Period, level: str | None) -> str:
        if level is None:
            return "choose another level"
        found = self.list_at(other, level)
        names = ", ".join(period.identifier for period in found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        return f"use {names}" if names else f"use an identifier of the level {level}"

    def _error(self, message: str, hint: str) -> PeriodError:
        return PeriodError(Problem("PERIOD_001", message, hint))


class GregorianIndex(PeriodIndex):
    """Years, quarters, months and days, computed and never materialised."""

    _PATTERNS = (
        ("year", re.compile(r"([0-9]{4})")),
        ("quarter", re.compile(r"([0-9]{4})-Q([1-4])")),
        ("month", re.compile(r"([0-9]{4})-([0-9]{2})")),
        ("day", re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")),
    )
    _EXAMPLES = (("year", "2026"), ("quarter", "2026-Q1"), ("month", "2026-01"), ("day", "2026-01-31"))

    def __init__(self) -> None:
        super().__init__(GREGORIAN_ID, GREGORIAN_LEVELS)

    def _find_at(self, identifier: str, level: str) -> Period | None:
        match = dict(self._PATTERNS)[level].fullmatch(identifier)
        if match is None:
            return None
        numbers = [int(group) for group in match.groups()]
        month = {"year": 1, "quarter": numbers[-1] * 3 - 2}.get(level, numbers[1] if len(numbers) > 1 else 1)
        try:
            return self.find_by_date(date(numbers[0], month, numbers[2] if level == "day" else 1), level)
        except ValueError:
            return None

    def find_by_date(self, day: date, level: str) -> Period:
        """Return the period at this level that holds this day."""
        self._require_level(level)
        return _find_gregorian(day, level)

    def find_next(self, period: Period) -> Period | None:
        """Return the period that follows at the same level."""
        if period.end_date == date.max:
            return None
        return self.find_by_date(period.end_date + timedelta(days=1), period.level)

    def find_previous(self, period: Period) -> Period | None:
        """Return the period before at the same level."""
        if period.start_date == date.min:
            return None
        return self.find_by_date(period.start_date - timedelta(days=1), period.level)

    def find_parent(self, period: Period, level: str) -> Period | None:
        """Return the period of a coarser level that this one belongs to."""
        return None if self.is_finer(level, period.level) else self.find_by_date(period.start_date, level)

    def list_children(self, period: Period, level: str) -> tuple[Period, ...]:
        """Return the periods of a finer level that belong to this one, in order."""
        if self.is_finer(period.level, level):
            return ()
        return tuple(self.iterate(level, period.start_date, period.end_date))

    def iterate(self, level: str, first: date, last: date) -> Iterator[Period]:
        """Yield the periods of a level that start on or between these days, in order."""
        period: Period | None = self.find_by_date(first, level)
        if period and period.start_date < first:
            period = self.find_next(period)
        while period and period.start_date <= last:
            yield period
            period = self.find_next(period)

    def _suggest(self, identifier: str, level: str | None) -> str:
        near = []
        if found := re.fullmatch(r"([0-9]{4})[-/.]?([0-9]{1,2})", identifier):
            near.append(("month", f"{found[1]}-{int(found[2]):02}"))
        if found := re.fullmatch(r"([0-9]{4})-?q?([1-4])", identifier, re.IGNORECASE):
            near.append(("quarter", f"{found[1]}-Q{found[2]}"))
        if found := re.fullmatch(r"([0-9]{4}-[0-9]{2})-[0-9]{2}", identifier):
            month = self._find_at(found[1], "month")
            if month is not None and level in (None, "day"):
                return f"the last day of {found[1]} is '{month.end_date}'"
        for name, candidate in near:
            if level in (None, name) and self._find_at(candidate, name):
                return f"did you mean '{candidate}'?"
        shown = [f"a {name} is written like {example}" for name, example in self._EXAMPLES if level in (None, name)]
        return "; ".join(shown)


@lru_cache(maxsize=10_000)
def _find_gregorian(day: date, level: str) -> Period:
    year = day.year
    if level == "year":
        return Period(identifier=f"{year:04}", level=level, start_date=date(year, 1, 1), end_date=date(year, 12, 31))
    if level == "day":
        return Period(identifier=day.isoformat(), level=level, start_date=day, end_date=day)
    months = 3 if level == "quarter" else 1
    first = (day.month - 1) // months * months + 1
    last = first + months - 1
    name = f"{year:04}-Q{last // 3}" if level == "quarter" else f"{year:04}-{first:02}"
    end = date(year, last, monthrange(year, last)[1])
    return Period(identifier=name, level=level, start_date=date(year, first, 1), end_date=end)


class ExplicitIndex(PeriodIndex):
    """A calendar whose periods are written out, such as 4-4-5 weeks."""

    def __init__(self, calendar: Calendar) -> None:
        super().__init__(calendar.id, [level.name for level in calendar.levels])
        self._parent_level = {level.name: level.parent_level for level in calendar.levels}
        self._by_level: dict[str, list[Period]] = {name: [] for name in self.levels}
        for period in calendar.periods:
            if period.level in self._by_level:
                self._by_level[period.level].append(period)
        self._by_identifier = {(p.level, p.identifier): p for periods in self._by_level.values() for p in periods}
        for name in reversed(self.levels):
            self._add_implied_parents(name)
        for periods in self._by_level.values():
            periods.sort(key=lambda period: (period.start_date, period.end_date))
        self._starts = {name: [p.start_date for p in periods] for name, periods in self._by_level.items()}

    def _add_implied_parents(self, level: str) -> None:
        """Add periods that are only named as parents; they reach from their first child to their last."""
        parent_level = self._parent_level.get(level)
        if parent_level not in self._by_level:
            return
        named: dict[str, list[Period]] = {}
        for period in self._by_level[level]:
            if period.parent and (parent_level, period.parent) not in self._by_identifier:
                named.setdefault(period.parent, []).append(period)
        for identifier, children in named.items():
            first, last = min(c.start_date for c in children), max(c.end_date for c in children)
            implied = Period(identifier=identifier, level=parent_level, start_date=first, end_date=last)
            self._by_level[parent_level].append(implied)
            self._by_identifier[parent_level, identifier] = implied

    def _find_at(self, identifier: str, level: str) -> Period | None:
        return self._by_identifier.get((level, identifier))

    def find_by_date(self, day: date, level: str) -> Period | None:
        """Return the period at this level that holds this day."""
        self._require_level(level)
        position = bisect_right(self._starts[level], day) - 1
        if position < 0:
            return None
        period = self._by_level[level][position]
        return period if period.end_date >= day else None

    def find_next(self, period: Period) -> Period | None:
        """Return the period that follows at the same level."""
        return self._neighbour(period, 1)

    def find_previous(self, period: Period) -> Period | None:
        """Return the period before at the same level."""
        return self._neighbour(period, -1)

    def _neighbour(self, period: Period, step: int) -> Period | None:
        position = bisect_left(self._starts[period.level], period.start_date) + step
        periods = self._by_level[period.level]
        return periods[position] if 0 <= position < len(periods) else None

    def find_parent(self, period: Period, level: str) -> Period | None:
        """Return the period of a coarser level that this one belongs to, by name or else by its days."""
        if level == period.level:
            return period
        named = self._parent_level.get(period.level)
        if period.parent and named and (parent := self._find_at(period.parent, named)):
            return self.find_parent(parent, level) if self.is_finer(named, level) or named == level else None
        if self.is_finer(level, period.level):
            return None
        holder = self.find_by_date(period.start_date, level)
        return holder if holder and holder.end_date >= period.end_date else None

    def list_children(self, period: Period, level: str) -> tuple[Period, ...]:
        """Return the periods of a finer level that belong to this one, in order."""
        if level == period.level:
            return (period,)
        self._require_level(level)
        return tuple(c for c in self._by_level[level] if self.find_parent(c, period.level) == period)

    def iterate(self, level: str, first: date, last: date) -> Iterator[Period]:
        """Yield the periods of a level that start on or between these days, in order."""
        self._require_level(level)
        starts = self._starts[level]
        yield from self._by_level[level][bisect_left(starts, first) : bisect_right(starts, last)]

    def _suggest(self, identifier: str, level: str | None) -> str:
        known = [p.identifier for name in self.levels if level in (None, name) for p in self._by_level[name]]
        if near := get_close_matches(identifier, known, 8):
            return f"did you mean '{min(near, key=lambda name: _is_further(name, identifier))}'?"
        if not known:
            return (
                "the calendar has no periods" if level is None else f"the calendar has no periods of the level {level}"
            )
        return f"it holds {known[0]} to {known[-1]}" if len(known) > 1 else f"it holds {known[0]}"


def _is_further(name: str, identifier: str) -> bool:
    """Return whether names differ in more than the zeros in front of their numbers, so that P1 finds P01 first."""
    return re.sub(r"\b0+|(?<=[A-Za-z])0+", "", name) != re.sub(r"\b0+|(?<=[A-Za-z])0+", "", identifier)


def make_period_index(calendar: Calendar) -> PeriodIndex:
    """Return the index of a calendar's periods; the built-in gregorian calendar is computed."""
    if calendar.id == GREGORIAN_ID and not calendar.periods:
        return GregorianIndex()
    return ExplicitIndex(calendar)

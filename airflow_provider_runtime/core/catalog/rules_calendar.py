"""Calendars: levels from coarse to fine; periods that do not overlap and are inside their parents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.errors import Code, Place, Problem
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar, Level, Period
from airflow_provider_runtime.core.suggest import suggest

ANY_LEVEL = "any"
TOKEN_PATTERNS = {
    "year": "[0-9]{4}",
    "quarter": "[1-4]",
    "month": "[0-9]{1,2}",
    "week": "[0-9]{1,2}",
    "day": "[0-9]{1,3}",
}
"""Other tokens stand for any characters of an identifier."""
_TOKEN = re.compile(r"\{(\w+)(?::[^}]*)?\}")


def find_level_fault(
    calendar: str, level: str, known: Mapping[str, Calendar], locate: Callable[[str], Place]
) -> Problem | None:
    """Return CATALOG_004 when a project's calendar is not known, or has no such level."""
    found = known.get(calendar)
    if found is None:
        return Problem("CATALOG_004", f"unknown calendar '{calendar}'", suggest(calendar, known), locate("calendar"))
    levels = [entry.name for entry in found.levels]
    if level in levels:
        return None
    message = f"calendar '{calendar}' has no level '{level}'"
    return Problem("CATALOG_004", message, suggest(level, levels), locate("level"))


def check_calendar(definition: Definition[Calendar]) -> list[Problem]:
    """Return what is wrong with a calendar."""
    return _CalendarCheck(definition).run()


class _CalendarCheck:
    def __init__(self, definition: Definition[Calendar]) -> None:
        self._definition = definition
        self._calendar = definition.model
        self._problems: list[Problem] = []
        self._levels = {level.name: level for level in reversed(self._calendar.levels)}
        self._indexes: dict[str, int] = {}
        self._at_level: dict[str, list[int]] = {}
        for index, period in enumerate(self._calendar.periods):
            self._indexes.setdefault(period.identifier, index)
            self._at_level.setdefault(period.level, []).append(index)

    def run(self) -> list[Problem]:
        if self._calendar.id == GREGORIAN.id:
            self._report(("id",), "calendar 'gregorian' is built in", "choose another id", code="CATALOG_003")
        seen: set[str] = set()
        for index, level in enumerate(self._calendar.levels):
            self._check_level(index, level, seen)
            seen.add(level.name)
        for index, period in enumerate(self._calendar.periods):
            self._check_period(index, period)
        for name in self._levels:
            self._check_overlaps(name)
        return self._problems

    def _report(self, path: Path, message: str, hint: str | None = None, *, code: Code = "CATALOG_002") -> None:
        self._problems.append(Problem(code, message, hint, self._definition.locate(*path)))

    def _check_level(self, index: int, level: Level, seen: set[str]) -> None:
        path: Path = ("levels", index)
        if level.name in seen:
            self._report((*path, "name"), f"level '{level.name}' is given twice", "keep one of them")
        if level.name == ANY_LEVEL:
            self._report((*path, "name"), "'any' cannot be the name of a level", "resolvers use it for all levels")
        if (reason := _find_ambiguity(level.identifier_pattern)) is not None:
            self._report((*path, "identifier_pattern"), f"the pattern {reason}", f"use {', '.join(TOKEN_PATTERNS)}")
        parent = level.parent_level
        if parent is None or parent in seen:
            return
        if parent in self._levels:
            message = f"level '{level.name}' must come after its parent '{parent}'"
            self._report((*path, "parent_level"), message, "order the levels from coarse to fine")
        else:
            message = f"unknown level '{parent}'"
            self._report((*path, "parent_level"), message, suggest(parent, self._levels), code="CATALOG_004")

    def _check_period(self, index: int, period: Period) -> None:
        path: Path = ("periods", index)
        first = self._indexes[period.identifier]
        if first != index:
            line = self._definition.locate("periods", first, "identifier").line
            message = f"period '{period.identifier}' is given twice"
            self._report((*path, "identifier"), message, f"the first one is in line {line}")
        level = self._levels.get(period.level)
        if level is None:
            message = f"unknown level '{period.level}'"
            self._report((*path, "level"), message, suggest(period.level, self._levels), code="CATALOG_004")
        elif not _fits_pattern(period.identifier, level.identifier_pattern):
            message = (
                f"identifier '{period.identifier}' does not fit the pattern '{level.identifier_pattern}' of its level"
            )
            self._report((*path, "identifier"), message)
        if period.start_date > period.end_date:
            message = f"period '{period.identifier}' ends on {period.end_date}, before it starts on {period.start_date}"
            self._report((*path, "end_date"), message, "both dates are inclusive")
        if period.parent is not None:
            self._check_parent((*path, "parent"), period, period.parent, level)

    def _check_parent(self, path: Path, period: Period, identifier: str, level: Level | None) -> None:
        index = self._indexes.get(identifier)
        if index is None:
            wanted = level.parent_level if level is not None else None
            known = [self._calendar.periods[position].identifier for position in self._at_level.get(wanted or "", ())]
            self._report(path, f"unknown parent period '{identifier}'", suggest(identifier, known))
            return
        parent = self._calendar.periods[index]
        if level is not None and parent.level != level.parent_level:
            expected = f"a period of level '{level.parent_level}'" if level.parent_level else "no parent"
            message = f"parent '{identifier}' is of level '{parent.level}', expected {expected}"
            self._report(path, message)
        elif not (parent.start_date <= period.start_date and period.end_date <= parent.end_date):
            message = f"period '{period.identifier}' is not inside its parent '{identifier}'"
            self._report(path, message, f"'{identifier}' is from {parent.start_date} to {parent.end_date}")

    def _check_overlaps(self, level: str) -> None:
        at_level = [
            (period.start_date, period.end_date, index)
            for index in self._at_level.get(level, ())
            if (period := self._calendar.periods[index]).start_date <= period.end_date
            and self._indexes[period.identifier] == index
        ]
        for earlier, later in pairwise(sorted(at_level)):
            if later[0] <= earlier[1]:
                first, second = self._calendar.periods[earlier[2]], self._calendar.periods[later[2]]
                message = f"period '{second.identifier}' overlaps '{first.identifier}' at level '{level}'"
                hint = f"'{first.identifier}' ends on {first.end_date}; both dates are inclusive"
                self._report(("periods", later[2], "start_date"), message, hint)


def _find_ambiguity(pattern: str | None) -> str | None:
    """Return why a pattern is ambiguous: matching it could take exponential time."""
    tokens = [name.lower() for name in _TOKEN.findall(pattern or "")]
    if len(tokens) > len(set(tokens)):
        return "holds a token twice"
    others = [name for name in tokens if name not in TOKEN_PATTERNS]
    return f"holds more than two tokens of any characters: {', '.join(others[:8])}" if len(others) > 2 else None


def _fits_pattern(identifier: str, pattern: str | None) -> bool:
    if pattern is None or _find_ambiguity(pattern) is not None:
        return True
    parts = _TOKEN.split(pattern)
    regex = "".join(
        re.escape(part) if index % 2 == 0 else TOKEN_PATTERNS.get(part.lower(), "[A-Za-z0-9._-]+")
        for index, part in enumerate(parts)
    )
    return re.fullmatch(regex, identifier) is not None

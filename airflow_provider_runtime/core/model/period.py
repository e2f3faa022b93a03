"""Calendars and periods."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Day, Identifier, Model, Name, Text

PeriodStatus = Literal["open", "closed", "locked"]


class Level(Model):
    """A granularity of a calendar."""

    name: Name
    """Name of the level."""
    parent_level: Name | None = None
    """The next coarser level."""
    identifier_pattern: Text | None = None
    """How identifiers of this level look, for example FY{year}."""


class Period(Model):
    """A stretch of days with an identifier; both dates are inclusive."""

    identifier: Identifier
    """Identifier, unique in the calendar."""
    level: Name
    """Level of the period."""
    parent: Identifier | None = None
    """Identifier of the period that this one is part of."""
    start_date: Day
    """First day."""
    end_date: Day
    """Last day."""
    status: PeriodStatus = "open"
    """Whether the period can be run: closed ones on demand only, locked ones never."""


class Calendar(Model):
    """Levels from coarse to fine, and the periods at them."""

    id: Identifier
    """Id of the calendar."""
    name: Text | None = None
    """Name for people."""
    description: Text | None = None
    """What the calendar is for."""
    levels: tuple[Level, ...] = Field(min_length=1)
    """Levels from coarse to fine."""
    periods: tuple[Period, ...] = ()
    """All periods of all levels."""


GREGORIAN = Calendar(
    id="gregorian",
    name="Gregorian",
    levels=(
        Level(name="year"),
        Level(name="quarter", parent_level="year"),
        Level(name="month", parent_level="quarter"),
        Level(name="day", parent_level="month"),
    ),
)
"""The built-in calendar; its periods are computed, not listed."""

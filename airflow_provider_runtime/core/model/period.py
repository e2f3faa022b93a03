"""Calendars and periods."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Day, Identifier, Model, Name, Text

PeriodStatus = Literal["open", "closed", "locked"]


class Level(Model):
    """A granularity of a calendar."""

    name: Name
    parent_level: Name | None = None
    identifier_pattern: Text | None = None


class Period(Model):
    """A stretch of days with an identifier; both dates are inclusive."""

    identifier: Identifier
    level: Name
    parent: Identifier | None = None
    start_date: Day
    end_date: Day
    status: PeriodStatus = "open"


class Calendar(Model):
    """Levels from coarse to fine, and the periods at them."""

    id: Identifier
    name: Text | None = None
    description: Text | None = None
    levels: tuple[Level, ...] = Field(min_length=1)
    periods: tuple[Period, ...] = ()


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

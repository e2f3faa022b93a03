"""Periods of the built-in and of explicit calendars."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_runtime.core.calendar.periods import GREGORIAN_LEVELS, PeriodIndex, make_period_index
from airflow_provider_runtime.core.errors import PeriodError
from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar, Level, Period

INDEX = make_period_index(GREGORIAN)
DAYS = st.dates(min_value=date(1, 1, 1), max_value=date(9999, 12, 31))
LEVELS = st.sampled_from(GREGORIAN_LEVELS)


def make_fiscal_calendar(first_day: date = date(2026, 1, 5), years: int = 2, *, with_parents: bool = True) -> Calendar:
    """A 4-4-5 calendar, with its quarters and years written out or only named."""
    levels = (
        Level(name="year"),
        Level(name="quarter", parent_level="year"),
        Level(name="month", parent_level="quarter"),
    )
    periods: list[Period] = []
    start = first_day
    for year in range(2026, 2026 + years):
        year_start = start
        for quarter in range(1, 5):
            quarter_start = start
            for position, weeks in enumerate((4, 4, 5)):
                end = start + timedelta(weeks=weeks, days=-1)
                identifier = f"FY{year}-P{(quarter - 1) * 3 + position + 1:02}"
                parent = f"FY{year}-Q{quarter}"
                periods.append(
                    Period(identifier=identifier, level="month", parent=parent, start_date=start, end_date=end)
                )
                start = end + timedelta(days=1)
            if with_parents:
                last = start - timedelta(days=1)
                name, parent = f"FY{year}-Q{quarter}", f"FY{year}"
                periods.append(
                    Period(identifier=name, level="quarter", parent=parent, start_date=quarter_start, end_date=last)
                )
        if with_parents:
            last = start - timedelta(days=1)
            periods.append(Period(identifier=f"FY{year}", level="year", start_date=year_start, end_date=last))
    return Calendar(id="fiscal", levels=levels, periods=tuple(periods))


def get_hint(index: PeriodIndex, identifier: str, level: str | None = None) -> str:
    with pytest.raises(PeriodError) as caught:
        index.get_period(identifier, level)
    problem = caught.value.problems[0]
    assert problem.code == "PERIOD_001"
    return f"{problem.message} | {problem.hint}"


@pytest.mark.parametrize(
    ("identifier", "level", "first", "last"),
    [
        ("2026", "year", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026-Q1", "quarter", date(2026, 1, 1), date(2026, 3, 31)),
        ("2026-Q4", "quarter", date(2026, 10, 1), date(2026, 12, 31)),
        ("2024-02", "month", date(2024, 2, 1), date(2024, 2, 29)),
        ("2026-01-31", "day", date(2026, 1, 31), date(2026, 1, 31)),
        ("9999-12", "month", date(9999, 12, 1), date(9999, 12, 31)),
    ],
)
def test_known_gregorian_identifier_gives_level_and_days(identifier: str, level: str, first: date, last: date) -> None:
    period = INDEX.get_period(identifier)
    assert (period.level, period.start_date, period.end_date) == (level, first, last)
    assert INDEX.get_period(identifier, level) == period


@pytest.mark.parametrize(
    "identifier", ["2026-13", "2026-00", "2026-Q5", "2026-02-30", "26-01", "2026-1", "", "2026-01 ", "２０２６", "0000"]
)
def test_unknown_gregorian_identifier_is_refused(identifier: str) -> None:
    assert INDEX.find_period(identifier) is None
    get_hint(INDEX, identifier)


def test_gregorian_month_without_zero_suggests_the_right_one() -> None:
    assert "did you mean '2026-01'?" in get_hint(INDEX, "2026-1", "month")
    assert "did you mean '2026-11'?" in get_hint(INDEX, "202611", "month")
    assert "did you mean '2026-Q1'?" in get_hint(INDEX, "2026q1", "quarter")
    assert "a month is written like 2026-01" in get_hint(INDEX, "January", "month")


@pytest.mark.parametrize("identifier", ["0000-01", "000001", "2026-13", "2026-0"])
def test_hint_is_a_period_that_exists(identifier: str) -> None:
    assert "did you mean" not in get_hint(INDEX, identifier, "month")


@pytest.mark.parametrize("text", ["2026-01..", "..2026-01", ".."])
def test_range_with_one_end_says_so(text: str) -> None:
    with pytest.raises(PeriodError, match="only one end"):
        INDEX.list_range(text, "month")


def test_period_of_another_level_names_what_to_use() -> None:
    text = get_hint(INDEX, "2026-Q1", "month")
    assert "is a quarter, expected a month" in text
    assert "2026-01, 2026-02, 2026-03" in text
    assert "use 2026-Q1" in get_hint(INDEX, "2026-02", "quarter")


def test_unknown_level_lists_the_levels() -> None:
    assert "its levels are year, quarter, month, day" in get_hint(INDEX, "2026", "week")


@given(DAYS, LEVELS)
def test_gregorian_day_is_in_the_period_that_is_found(day: date, level: str) -> None:
    period = INDEX.find_by_date(day, level)
    assert period is not None
    assert period.start_date <= day <= period.end_date
    assert INDEX.get_period(period.identifier, level) == period


@given(DAYS, LEVELS)
def test_gregorian_neighbours_leave_no_gap_and_no_overlap(day: date, level: str) -> None:
    period = INDEX.find_by_date(day, level)
    assert period is not None
    following = INDEX.find_next(period)
    if following is None:
        assert period.end_date == date.max
        return
    assert following.start_date - period.end_date == timedelta(days=1)
    assert INDEX.find_previous(following) == period


@settings(max_examples=40)
@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2200, 1, 1)), LEVELS, LEVELS)
def test_gregorian_children_fill_their_parent_and_point_back(day: date, coarse: str, fine: str) -> None:
    parent = INDEX.find_by_date(day, coarse)
    assert parent is not None
    children = INDEX.list_children(parent, fine)
    if INDEX.is_finer(coarse, fine):
        assert children == ()
        return
    assert children[0].start_date == parent.start_date
    assert children[-1].end_date == parent.end_date
    assert all(b.start_date - a.end_date == timedelta(days=1) for a, b in pairwise(children))
    assert all(INDEX.find_parent(child, coarse) == parent for child in children)


@given(st.dates(min_value=date(2026, 1, 5), max_value=date(2028, 1, 2)), st.booleans())
def test_fiscal_day_is_in_one_period_of_each_level(day: date, with_parents: bool) -> None:
    index = make_period_index(make_fiscal_calendar(with_parents=with_parents))
    for level in ("quarter", "month"):
        period = index.find_by_date(day, level)
        assert period is not None
        assert period.start_date <= day <= period.end_date
        parent = index.find_parent(period, "quarter")
        assert parent == index.find_by_date(day, "quarter")
        assert parent is not None
        assert period in index.list_children(parent, level)


def test_fiscal_calendar_walks_up_down_and_sideways() -> None:
    index = make_period_index(make_fiscal_calendar())
    month = index.get_period("FY2026-P03", "month")
    year = index.find_parent(month, "year")
    assert year is not None
    assert year.identifier == "FY2026"
    assert [p.identifier for p in index.list_children(year, "quarter")] == [f"FY2026-Q{n}" for n in range(1, 5)]
    assert len(index.list_children(year, "month")) == 12
    assert [index.find_next(month), index.find_previous(month)] == [
        index.get_period("FY2026-P04"),
        index.get_period("FY2026-P02"),
    ]
    assert index.find_previous(index.get_period("FY2026-P01")) is None
    assert index.find_by_date(date(2025, 1, 1), "month") is None
    assert "did you mean 'FY2026-P01'?" in get_hint(index, "FY2026-P1", "month")


def test_periods_at_another_level_are_the_parts_or_the_whole() -> None:
    index = make_period_index(GREGORIAN)
    month = index.get_period("2026-02")

    assert [found.identifier for found in index.list_at(index.get_period("2026-Q1"), "month")] == [
        "2026-01", "2026-02", "2026-03"
    ]  # fmt: skip
    assert [found.identifier for found in index.list_at(month, "year")] == ["2026"]
    assert index.list_at(month, "month") == (month,)


def test_last_ended_period_is_found_behind_the_calendars_end_and_not_before_its_first() -> None:
    index = make_period_index(make_fiscal_calendar(years=1))
    first, *_, last = index.iterate("month", date.min, date.max)

    assert index.find_last_ended("month", first.end_date) is None
    assert index.find_last_ended("month", first.end_date + timedelta(days=1)) == first
    assert index.find_last_ended("month", last.end_date + timedelta(days=500)) == last


def test_fiscal_parent_only_named_reaches_over_its_children() -> None:
    index = make_period_index(make_fiscal_calendar(with_parents=False))
    quarter = index.get_period("FY2026-Q1", "quarter")
    assert (quarter.start_date, quarter.end_date) == (date(2026, 1, 5), date(2026, 4, 5))


def test_range_gives_every_period_in_order() -> None:
    assert [p.identifier for p in INDEX.list_range("2025-11..2026-02", "month")] == [
        "2025-11",
        "2025-12",
        "2026-01",
        "2026-02",
    ]
    assert [p.identifier for p in INDEX.list_range("2026-01", "month")] == ["2026-01"]
    index = make_period_index(make_fiscal_calendar())
    assert len(index.list_range("FY2026-P11..FY2027-P02", "month")) == 4


def test_backward_range_says_how_to_write_it() -> None:
    with pytest.raises(PeriodError) as caught:
        INDEX.list_range("2026-03..2026-01", "month")
    assert caught.value.problems[0].hint == "write 2026-01..2026-03"


def test_iterate_yields_only_periods_that_start_inside() -> None:
    found = INDEX.iterate("quarter", date(2026, 1, 2), date(2026, 7, 1))
    assert [p.identifier for p in found] == ["2026-Q2", "2026-Q3"]


def test_identifier_that_is_long_or_a_range_is_refused_in_short() -> None:
    index = make_period_index(make_fiscal_calendar())
    assert len(get_hint(index, "FY" * 100_000)) < 300
    assert "name one period" in get_hint(INDEX, "2026-01..2026-02", "month")


def test_range_of_more_periods_than_anybody_runs_is_refused_with_the_most() -> None:
    with pytest.raises(PeriodError, match="holds more than 10000 periods") as caught:
        INDEX.list_range("0001-01..9999-12", "month")
    hint = caught.value.problems[0].hint or ""
    most = hint.split()[0]
    assert len(INDEX.list_range(most, "month")) == 10_000


@pytest.mark.parametrize("year", [2024, 2000, 2028, 2400])
def test_leap_day_is_a_day_of_its_month_between_its_neighbours(year: int) -> None:
    leap = INDEX.get_period(f"{year}-02-29", "day")
    february = INDEX.get_period(f"{year}-02", "month")
    assert february.end_date == leap.end_date == date(year, 2, 29)
    assert [found.identifier for found in INDEX.list_children(february, "day")][-2:] == [
        f"{year}-02-28",
        f"{year}-02-29",
    ]
    assert INDEX.find_next(leap).identifier == f"{year}-03-01"  # type: ignore[union-attr]
    assert INDEX.find_shifted(leap, -366).identifier == f"{year - 1}-02-28"  # type: ignore[union-attr]
    assert INDEX.find_shifted(february, -12).identifier == f"{year - 1}-02"  # type: ignore[union-attr]
    assert len(INDEX.list_range(f"{year}-01-01..{year}-12-31", "day")) == 366


@pytest.mark.parametrize("year", [2025, 1900, 2100])
def test_leap_day_of_another_year_is_refused_with_the_last_day(year: int) -> None:
    assert f"{year}-02-28" in get_hint(INDEX, f"{year}-02-29", "day")


def make_weeks(*weeks_of_years: int) -> Calendar:
    """Retail years of 52 or 53 weeks, one after another, with a period for each week."""
    levels = (Level(name="year"), Level(name="week", parent_level="year"))
    periods: list[Period] = []
    start = date(2026, 2, 1)
    for year, weeks in enumerate(weeks_of_years, start=2026):
        last = start + timedelta(weeks=weeks, days=-1)
        periods.append(Period(identifier=f"FY{year}", level="year", start_date=start, end_date=last))
        for week in range(1, weeks + 1):
            end = start + timedelta(days=6)
            name, parent = f"FY{year}-W{week:02}", f"FY{year}"
            periods.append(Period(identifier=name, level="week", parent=parent, start_date=start, end_date=end))
            start = end + timedelta(days=1)
    return Calendar(id="retail", levels=levels, periods=tuple(periods))


def test_year_of_53_weeks_has_its_last_week_before_the_next_years_first() -> None:
    index = make_period_index(make_weeks(53, 52))
    year = index.get_period("FY2026", "year")
    weeks = index.list_children(year, "week")
    assert (len(weeks), weeks[-1].identifier, weeks[-1].end_date) == (53, "FY2026-W53", year.end_date)
    assert index.find_next(weeks[-1]).identifier == "FY2027-W01"  # type: ignore[union-attr]
    assert index.find_shifted(index.get_period("FY2027-W01", "week"), -1).identifier == "FY2026-W53"  # type: ignore[union-attr]
    assert len(index.list_range("FY2026-W52..FY2027-W02", "week")) == 4
    assert "FY2027-W53" not in {found.identifier for found in index.list_children(index.get_period("FY2027"), "week")}
    assert index.find_period("FY2027-W53", "week") is None

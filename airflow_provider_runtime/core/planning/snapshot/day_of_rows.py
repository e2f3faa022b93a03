"""The day whose rows a bitemporal table gives: a join's own, the start of an earlier period, or the run's."""

from __future__ import annotations

from datetime import date

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.check.checked import TableUse


def find_own_day(use: TableUse, index: PeriodIndex, period: Period) -> date | None:
    """Return the table's own day in a run of this period; None when it is read as of the run's day."""
    if use.table.temporal_mode != "bitemporal" or use.is_read_whole:
        return None
    if isinstance(use.as_of, date):
        return use.as_of
    if use.as_of is not None:
        return period.start_date if use.as_of == "period_start" else period.end_date
    shift = use.dataset.model.period_shift
    shifted = index.find_shifted(period, shift) if shift else None
    return None if shifted is None else shifted.start_date


def find_day_of_rows(use: TableUse, index: PeriodIndex, period: Period, run_day: date) -> date | None:
    """Return the day whose rows are read; None when rows of every day are."""
    return None if use.is_read_whole else find_own_day(use, index, period) or run_day

"""Whether a snapshot that was made earlier may still be run."""

from __future__ import annotations

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.calendar.run_period import PeriodRules, list_period_problems
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Problem
from spark_jobs.contract.snapshot import Snapshot


def list_problems_since(catalog: Catalog, snapshot: Snapshot, *, allow_closed: bool) -> list[Problem]:
    """Return why the period of a snapshot may no longer be run, according to its calendar's file."""
    settings = snapshot.plan.settings
    calendar = catalog.find_calendar(settings.calendar)
    index = make_period_index(calendar.model) if calendar is not None else None
    period = index.find_period(snapshot.period.identifier, snapshot.period.level) if index else None
    if index is None or period is None:
        return []
    rules = PeriodRules(allow_closed=allow_closed or settings.allow_closed)
    return list_period_problems(index, period, rules, registry=None, today=period.end_date)

"""What a snapshot says about its period, and whether that may still be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.calendar.run_period import PeriodRules, list_period_problems
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.period import GREGORIAN


def get_settings(snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a snapshot's plan; one from elsewhere may have none."""
    return snapshot["plan"].get("settings") or {}


def get_calendar_name(snapshot: Mapping[str, Any]) -> str:
    """Return the name of a snapshot's calendar."""
    return str(get_settings(snapshot).get("calendar") or GREGORIAN.id)


def list_problems_since(catalog: Catalog, snapshot: Mapping[str, Any], *, allow_closed: bool) -> list[Problem]:
    """Return why the period of a snapshot may not be run any more, by what its calendar's file says now."""
    calendar = catalog.find_calendar(get_calendar_name(snapshot))
    index = make_period_index(calendar.model) if calendar is not None else None
    period = index.find_period(snapshot["period"]["identifier"], snapshot["period"]["level"]) if index else None
    if index is None or period is None:
        return []
    rules = PeriodRules(allow_closed=allow_closed or get_settings(snapshot).get("allow_closed", False))
    return list_period_problems(index, period, rules, registry=None, today=period.end_date)

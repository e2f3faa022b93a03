"""The period of a project's run: its calendar's periods, the one that is asked for, and today's date there."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from airflow_provider_runtime.core.calendar.periods import PeriodIndex, make_period_index
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.rules_project import find_calendar_fault
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project


def get_project_periods(catalog: Catalog, project: Definition[Project]) -> PeriodIndex:
    """Return the periods of a project's calendar; CATALOG_004 when the calendar or the level is not known."""
    fault = find_calendar_fault(catalog, project)
    if fault is not None:
        raise DefinitionError(fault)
    calendar = catalog.find_calendar(project.model.calendar)
    assert calendar is not None
    return make_period_index(calendar.model)


def get_run_period(index: PeriodIndex, identifier: str, project: Definition[Project]) -> Period:
    """Return the period with this identifier at the project's level, or raise PERIOD_001."""
    try:
        return index.get_period(identifier, project.model.level)
    except PeriodError as error:
        place = project.locate("level")
        raise PeriodError(
            problem.at_place(place).at(project=project.model.name) for problem in error.problems
        ) from error


def get_project_day(project: Project, moment: datetime) -> date:
    """Return today's date in the project's time zone, by which its schedule counts periods too."""
    timezone = project.airflow.timezone if project.airflow is not None else None
    return moment.astimezone(ZoneInfo(timezone) if timezone else UTC).date()

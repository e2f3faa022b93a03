"""A project's schedule and deadline as Airflow's timetable and alert."""

from __future__ import annotations

import json
from datetime import date, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import AssetAll, PartitionedAssetTimetable, PartitionedAtRuntime, RollupMapper
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert

from airflow_provider_runtime.core.calendar.run_period import has_begun, has_ended
from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.model.duration import describe_duration, parse_duration
from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.model.project import AFTER_PERIOD, UPSTREAM
from airflow_provider_runtime.dag_factory.catalog_outline import CatalogOutline
from airflow_provider_runtime.dag_factory.outline import ProjectOutline
from airflow_provider_runtime.deadlines.references import PeriodEndReference, QueuedReference
from airflow_provider_runtime.hooks.runtime import SECTION
from airflow_provider_runtime.timetables.assets import make_asset
from airflow_provider_runtime.timetables.calendar_codec import encode_calendar, get_period_index
from airflow_provider_runtime.timetables.partition_mappers import ChildPeriodsWindow, PeriodMapper
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable

DEFAULT_CALLBACK = "airflow_provider_runtime.deadlines.notifications.notify_late"
_DEADLINE_BEGINS = {"after_period_end": "the period's end", "after_queued": "being queued"}
_EARLIER_YEARS = 1
_MOST_OFFERED = 60


def make_schedule(outline: CatalogOutline, project: ProjectOutline) -> Any:
    """Return what DAG(schedule=...) takes; a draft is run by hand only, with a partition key like the others."""
    settings = project.settings
    if settings.schedule is None or project.status == "draft":
        return PartitionedAtRuntime()
    calendar = outline.get_calendar(project)
    if settings.schedule == UPSTREAM:
        return _make_upstream(outline, project, calendar)
    cron = None if settings.schedule == AFTER_PERIOD else settings.schedule
    return PeriodTimetable(
        calendar,
        project.level,
        timezone=settings.timezone or "UTC",
        allow_open_period=settings.allow_open_period,
        cron=cron,
    )


def _make_upstream(outline: CatalogOutline, project: ProjectOutline, calendar: Calendar) -> PartitionedAssetTimetable:
    """Wait for every registered dataset that the project reads, for all of the period."""
    upstream = outline.list_upstream(project)
    if not upstream:
        hint = f"use schedule: {AFTER_PERIOD}, or read a dataset that another project registers"
        message = f"project '{project.name}' has the schedule {UPSTREAM} but reads no registered dataset"
        raise DefinitionError(Problem("CATALOG_002", message, hint, project.locate("airflow.schedule")))
    zone = project.settings.timezone or "UTC"
    mappers = {make_asset(name): _make_mapper(outline, other, project, calendar, zone) for name, other in upstream}
    return PartitionedAssetTimetable(
        assets=AssetAll(*mappers),
        partition_mapper_config=mappers,  # type: ignore[arg-type]
    )


def _make_mapper(
    outline: CatalogOutline, upstream: ProjectOutline, project: ProjectOutline, calendar: Calendar, zone: str
) -> Any:
    if outline.get_calendar(upstream).id != calendar.id:
        message = f"project '{project.name}' reads from '{upstream.name}', whose periods are of another calendar"
        hint = f"use schedule: {AFTER_PERIOD}"
        raise DefinitionError(Problem("CATALOG_002", message, hint, project.locate("airflow.schedule")))
    mapper = PeriodMapper(calendar=calendar, upstream_level=upstream.level, level=project.level, timezone=zone)
    if not get_period_index(calendar).is_finer(upstream.level, project.level):
        return mapper
    window = ChildPeriodsWindow(calendar=calendar, upstream_level=upstream.level, level=project.level)
    # The scheduler's copies of mapper and window serve here too; the SDK's classes hold only settings.
    return RollupMapper(upstream_mapper=mapper, window=window)  # type: ignore[arg-type]


def make_deadline(outline: CatalogOutline, project: ProjectOutline, callback: str | None) -> list[DeadlineAlert] | None:
    """Return the alerts of a project's deadline block."""
    settings = project.settings
    if settings.deadline is None:
        return None
    alerts = []
    if settings.deadline.after_period_end:
        reference = PeriodEndReference(
            calendar=json.dumps(encode_calendar(outline.get_calendar(project)), separators=(",", ":")),
            level=project.level,
            timezone=settings.timezone or "UTC",
        )
        alerts.append(_make_alert(project, "after_period_end", reference, settings.deadline.after_period_end, callback))
    if settings.deadline.after_queued:
        text = settings.deadline.after_queued
        alerts.append(_make_alert(project, "after_queued", QueuedReference(), text, callback))
    return alerts or None


def _make_alert(project: ProjectOutline, key: str, reference: Any, text: str, callback: str | None) -> DeadlineAlert:
    path = callback or conf.get(SECTION, "deadline_callback", fallback="") or DEFAULT_CALLBACK
    words = f"within {describe_duration(text)} of {_DEADLINE_BEGINS[key]}"
    return DeadlineAlert(
        reference=reference,
        interval=parse_duration(text),
        callback=AsyncCallback(path, kwargs={"project": project.name, "deadline": words}),
        name=words,
    )


def list_offered_periods(outline: CatalogOutline, project: ProjectOutline) -> list[str]:
    """Return the periods of this year and the last that can be run today, the latest first.

    The list is another one when a period has ended, or begun, so a DAG gets a new version then if the old one has run.
    """
    calendar = outline.get_calendar(project)
    today = datetime.now(ZoneInfo(project.settings.timezone or "UTC")).date()
    return list(_offer_periods(calendar, project.level, today, project.settings.allow_open_period))


@lru_cache(maxsize=64)
def _offer_periods(calendar: Calendar, level: str, today: date, allow_open: bool) -> tuple[str, ...]:
    first, last = date(today.year - _EARLIER_YEARS, 1, 1), date(today.year, 12, 31)
    found = list(get_period_index(calendar).iterate(level, first, last))
    if len(found) > _MOST_OFFERED:
        return ()
    may_run = has_begun if allow_open else has_ended
    runnable = [period for period in found if may_run(period, today)]
    return tuple(period.identifier for period in reversed(runnable))

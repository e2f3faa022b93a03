"""The matrix of projects and periods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from airflow_provider_runtime.board.projects import Known, find_projects
from airflow_provider_runtime.core.model.duration import parse_duration
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.stale.plan import Entry
from airflow_provider_runtime.core.registry.ports import RunRecord
from airflow_provider_runtime.timetables.calendar_codec import compute_period_end

ALL_YEARS = "all"
_COUNTED = ("passed", "failed", "warned", "overridden")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which part of the matrix is asked for."""

    calendar: str | None = None
    level: str | None = None
    year: str | None = None
    tag: str | None = None


def make_board(dag_ids: Collection[str], wanted: Filter, may_edit: Callable[[str], bool]) -> dict[str, Any]:
    """Return the matrix of the projects whose DAGs somebody may see."""
    found = find_projects(dag_ids)
    groups = Counter(_get_group(known) for known in found.known)
    shown = _choose_group(groups, wanted)
    same = [known for known in found.known if _get_group(known) == shown]
    years = sorted({str(period.start_date.year) for known in same for period, _ in known.entries})
    year = wanted.year if wanted.year in (*years, ALL_YEARS) else (years[-1] if years else ALL_YEARS)
    chosen = [known for known in same if wanted.tag in (None, "", *known.dag.tags)]
    periods: dict[str, tuple[Period, Entry]] = {}
    rows = []
    for known in chosen:
        cells = {}
        for period, entry in known.entries:
            if year in (ALL_YEARS, str(period.start_date.year)):
                periods.setdefault(period.identifier, (period, entry))
                cells[period.identifier] = _make_cell(known, period, entry)
        rows.append({**_describe_project(known), "may_edit": may_edit(known.dag.dag_id), "cells": cells})
    return {
        "projects": rows,
        "periods": _describe_periods(chosen, sorted(periods.values(), key=lambda item: item[0].start_date)),
        "unreadable": [asdict(entry) for entry in found.unreadable],
        "choices": {
            "calendars": [{"calendar": calendar, "level": level} for calendar, level in sorted(groups)],
            "years": [*reversed(years), ALL_YEARS],
            "tags": sorted({tag for known in same for tag in known.dag.tags}),
        },
        "shown": {"calendar": shown[0], "level": shown[1], "year": year},
    }


def describe_deadline(project: Project, period: Period, published: RunRecord | None) -> dict[str, Any] | None:
    """Return when a period is due, and whether its first publication missed that or is missing after it."""
    due = _find_due(project, period)
    if due is None:
        return None
    return {"due": _write(due), "is_late": published is None and due < datetime.now(UTC)}


def _get_group(known: Known) -> tuple[str, str]:
    return known.project.calendar, known.project.level


def _choose_group(groups: Counter[tuple[str, str]], wanted: Filter) -> tuple[str, str]:
    asked = (wanted.calendar or "", wanted.level or "")
    if asked in groups:
        return asked
    # Without a choice, or with one of a calendar that has gone: what most projects have.
    return max(sorted(groups), key=lambda group: groups[group], default=("gregorian", "month"))


def _describe_project(known: Known) -> dict[str, Any]:
    return {
        "project": known.project.name,
        "dag_id": known.dag.dag_id,
        "tags": list(known.dag.tags),
        "backfills": known.dag.level is not None,
    }


def _describe_periods(known: Sequence[Known], periods: Sequence[tuple[Period, Entry]]) -> list[dict[str, Any]]:
    described = []
    for period, entry in periods:
        records = (each.sight.statuses.get((each.project.calendar, period.identifier)) for each in known)
        record = next((found for found in records if found is not None), None)
        described.append(
            {
                "period": period.identifier,
                "start_date": period.start_date.isoformat(),
                "end_date": period.end_date.isoformat(),
                "status": entry.status,
                "who": record.who if record is not None else "",
                "reason": record.reason if record is not None else "",
            }
        )
    return described


def _make_cell(known: Known, period: Period, entry: Entry) -> dict[str, Any]:
    latest = known.find_latest(period.identifier)
    published = known.find_published(period.identifier)
    due = _find_due(known.project, period) if published is None else None
    return {
        "state": entry.state,
        "late_since": due.date().isoformat() if due is not None and due < datetime.now(UTC) else None,
        "checks": _count_checks(latest),
        "approval": "waiting for a decision" if entry.state == "staged" else None,
        "published_at": _write(published.published_at) if published is not None and published.published_at else None,
        "reasons": [f"{reason.kind}: {reason.detail}" for reason in entry.reasons],
    }


def _count_checks(run: RunRecord | None) -> dict[str, int] | None:
    checks = (run.report or {}).get("checks") if run is not None else None
    if not checks:
        return None
    counts = Counter(str(check.get("status")) for check in checks)
    return {status: counts[status] for status in _COUNTED}


def _find_due(project: Project, period: Period) -> datetime | None:
    """Return until when a period shall be published."""
    settings = project.airflow
    allowed = settings.deadline.after_period_end if settings is not None and settings.deadline is not None else None
    if settings is None or allowed is None:
        return None
    return (compute_period_end(period, ZoneInfo(settings.timezone or "UTC")) + parse_duration(allowed)).astimezone(UTC)


def _write(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

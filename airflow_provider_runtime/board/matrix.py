"""The matrix of projects and periods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from airflow_provider_runtime.board.dags import list_partitioned, list_paused
from airflow_provider_runtime.board.projects import Known, find_projects
from airflow_provider_runtime.core.calendar.run_period import find_strictest
from airflow_provider_runtime.core.evidence.deadline import find_due
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.stale.plan import Entry
from airflow_provider_runtime.core.registry.ports import RunRecord

ALL = "all"
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
    groups = Counter((known.project.calendar, known.project.level) for known in found.known)
    calendar, level = _choose_group(groups, wanted)
    same = [k for k in found.known if k.project.calendar == calendar and level in (ALL, k.project.level)]
    years = sorted({str(period.start_date.year) for known in same for period, _ in known.entries})
    year = wanted.year if wanted.year in (*years, ALL) else (years[-1] if years else ALL)
    chosen = [known for known in same if wanted.tag in (None, "", *known.dag.tags)]
    columns = _Columns(_find_finest(chosen))
    shown_dags = {known.dag.dag_id for known in chosen}
    paused, partitioned = list_paused(shown_dags), list_partitioned(shown_dags)
    rows = []
    for known in chosen:
        cells = {}
        for period, entry in known.entries:
            if year in (ALL, str(period.start_date.year)):
                columns.add(known, period)
                cells[period.identifier] = _make_cell(known, period, entry)
        dag_id = known.dag.dag_id
        of_dag = {
            "may_edit": may_edit(dag_id),
            "is_paused": dag_id in paused,
            "is_partitioned": dag_id in partitioned,
        }
        rows.append({**_describe_project(known), **of_dag, "cells": cells})
    return {
        "projects": rows,
        "periods": columns.list_periods(columns.level),
        "spans": {coarser: columns.list_periods(coarser) for coarser in columns.found if coarser != columns.level},
        "unreadable": [asdict(entry) for entry in found.unreadable],
        "choices": {
            "calendars": [{"calendar": name, "level": choice} for name, choice in _list_choices(groups)],
            "years": [*reversed(years), ALL],
            "tags": sorted({tag for known in same for tag in known.dag.tags}),
        },
        "shown": {"calendar": calendar, "level": level, "year": year, "column_level": columns.level},
    }


@dataclass
class _Columns:
    """The periods of the finest level, a column each, and those of coarser levels that span some of them."""

    level: str
    found: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def add(self, known: Known, period: Period) -> None:
        """Add a period, and the columns that are part of it."""
        level = self.found.setdefault(period.level, {})
        if period.identifier in level:
            return
        level[period.identifier] = _describe_period(known, period)
        if period.level != self.level:
            for child in known.index.list_children(period, self.level):
                self.add(known, child)

    def list_periods(self, level: str) -> list[dict[str, Any]]:
        """Return the periods of a level in their order."""
        return sorted(self.found.get(level, {}).values(), key=lambda period: str(period["start_date"]))


def _list_choices(groups: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the calendars with their levels; those with several have all of them together as well."""
    levels = Counter(calendar for calendar, _ in groups)
    return sorted([*groups, *((calendar, ALL) for calendar, count in levels.items() if count > 1)])


def _choose_group(groups: Counter[tuple[str, str]], wanted: Filter) -> tuple[str, str]:
    asked = (wanted.calendar or "", wanted.level or "")
    choices = _list_choices(groups)
    if asked in choices:
        return asked
    # Without a choice, or with one that has gone: the calendar of most projects, with all of its levels.
    counts: Counter[str] = Counter()
    for (calendar, _), count in sorted(groups.items()):
        counts[calendar] += count
    calendar = max(counts, key=lambda name: counts[name], default="gregorian")
    return next((choice for choice in choices if choice[0] == calendar), (calendar, "month"))


def _find_finest(known: Sequence[Known]) -> str:
    finest = "month"
    for number, each in enumerate(known):
        if number == 0 or each.index.is_finer(each.project.level, finest):
            finest = each.project.level
    return finest


def _describe_project(known: Known) -> dict[str, Any]:
    return {
        "project": known.project.name,
        "level": known.project.level,
        "dag_id": known.dag.dag_id,
        "tags": list(known.dag.tags),
        "backfills": known.dag.level is not None,
        "needs_approval": known.project.publication.approval is not None,
    }


def _describe_period(known: Known, period: Period) -> dict[str, Any]:
    found = find_strictest(known.index, period, known.sight)
    record = known.sight.get_period(known.index.calendar_id, found.period.identifier)
    # The file says of every period that it is open, as long as it says nothing else.
    is_in_file = found.in_file and found.status != "open"
    return {
        "period": period.identifier,
        "start_date": period.start_date.isoformat(),
        "end_date": period.end_date.isoformat(),
        "status": found.status,
        "who": "the calendar's file" if is_in_file else record.who,
        "reason": "" if is_in_file else record.reason,
    }


def _make_cell(known: Known, period: Period, entry: Entry) -> dict[str, Any]:
    latest = known.find_latest(period.identifier)
    published = known.find_published(period.identifier)
    due = find_due(known.project, period) if published is None else None
    return {
        "state": entry.state,
        "late_since": due.date().isoformat() if due is not None and due < datetime.now(UTC) else None,
        "checks": _count_checks(latest),
        "approval": "waiting for a decision" if entry.state == "staged" else None,
        "published_at": _write(published.published_at) if published is not None and published.published_at else None,
        "reasons": [f"{reason.kind}: {reason.detail}" for reason in entry.reasons],
    }


def _count_checks(run: RunRecord | None) -> dict[str, int] | None:
    if run is None or not run.check_counts:
        return None
    return {status: run.check_counts.get(status, 0) for status in _COUNTED}


def _write(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

"""What the board's page is told: the matrix of projects and periods, and the evidence of one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from airflow.configuration import conf
from fastapi import HTTPException

from airflow_provider_runtime.board.catalogs import CatalogCache, open_registry
from airflow_provider_runtime.board.dags import ProjectDag, find_dag_run, list_project_dags
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.evidence.gather import Evidence, gather_evidence
from airflow_provider_runtime.core.evidence.page import render_page
from airflow_provider_runtime.core.model.duration import parse_duration
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.making import make_plan
from airflow_provider_runtime.core.planning.stale.plan import Entry, Plan, Scope, Work
from airflow_provider_runtime.core.registry.ports import PeriodRecord, RunRecord
from airflow_provider_runtime.hooks.runtime import RuntimeHook

ALL_YEARS = "all"
_catalogs = CatalogCache()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which part of the matrix is asked for."""

    calendar: str | None = None
    level: str | None = None
    year: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """A DAG's project with its definition and the plan that it is part of."""

    dag: ProjectDag
    definition: Definition[Project]
    loaded: LoadResult
    plan: Plan

    @property
    def project(self) -> Project:
        """The project's model."""
        return self.definition.model

    def list_entries(self) -> Iterator[tuple[Period, Entry]]:
        """Yield the project's periods that are due or were run, with their states."""
        index = get_project_periods(self.loaded.catalog, self.definition)
        for entry in self.plan.entries:
            period = index.find_period(entry.work.period, self.project.level)
            if entry.work.project == self.project.name and period is not None:
                yield period, entry


def make_board(dag_ids: Collection[str], wanted: Filter, may_edit: Callable[[str], bool]) -> dict[str, Any]:
    """Return the matrix of the projects whose DAGs somebody may see."""
    known = list(_list_known(list_project_dags(dag_ids)))
    groups = sorted({(found.project.calendar, found.project.level) for found in known})
    shown = _choose_group(known, groups, wanted)
    chosen = [found for found in known if (found.project.calendar, found.project.level) == shown]
    years = sorted({str(period.start_date.year) for found in chosen for period, _ in found.list_entries()})
    year = wanted.year if wanted.year in (*years, ALL_YEARS) else (years[-1] if years else ALL_YEARS)
    tags = sorted({tag for found in chosen for tag in found.dag.tags})
    chosen = [found for found in chosen if wanted.tag in (None, "", *found.dag.tags)]
    periods: dict[str, Period] = {}
    cells: dict[str, dict[str, Any]] = {}
    for found in chosen:
        row = cells.setdefault(found.dag.dag_id, {})
        for period, entry in found.list_entries():
            if year in (ALL_YEARS, str(period.start_date.year)):
                periods[period.identifier] = period
                row[period.identifier] = _make_cell(found, period, entry)
    return {
        "projects": [
            {
                "project": found.project.name,
                "dag_id": found.dag.dag_id,
                "tags": list(found.dag.tags),
                "may_edit": may_edit(found.dag.dag_id),
            }
            for found in chosen
        ],
        "periods": _describe_periods(chosen, sorted(periods.values(), key=lambda period: period.start_date)),
        "cells": cells,
        "choices": {
            "calendars": [{"calendar": calendar, "level": level} for calendar, level in groups],
            "years": [*reversed(years), ALL_YEARS],
            "tags": tags,
        },
        "shown": {"calendar": shown[0], "level": shown[1], "year": year},
    }


def make_evidence(dag_id: str, period: str, *, may_edit: bool) -> dict[str, Any]:
    """Return the evidence of a DAG's project for a period, with links into Airflow."""
    known = get_known(dag_id)
    evidence, run = _gather(known, period)
    place = f"api/dags/{quote(dag_id, safe='')}/periods/{quote(period, safe='')}"
    links = {**_link_run(run), "file": f"runtime-board/{place}/evidence.html"}
    return {**evidence.to_document(), "dag_id": dag_id, "links": links, "may_edit": may_edit}


def make_evidence_of_run(dag_id: str, run_id: str, *, may_edit: bool) -> dict[str, Any]:
    """Return the evidence of the period that a DAG run was for."""
    run = find_dag_run(dag_id, run_id)
    period = run.partition_key or (run.conf or {}).get("period") if run is not None else None
    if not period:
        raise HTTPException(404, "this run has no period yet")
    return make_evidence(dag_id, str(period), may_edit=may_edit)


def make_evidence_file(dag_id: str, period: str) -> str:
    """Return the evidence as one HTML file."""
    return render_page(_gather(get_known(dag_id), period)[0])


def get_known(dag_id: str) -> _Known:
    """Return a DAG's project, or answer that there is none."""
    found = next(_list_known(list_project_dags([dag_id])), None)
    if found is None:
        raise HTTPException(404, "this DAG runs no project, or its catalog is not on the API server")
    return found


def _gather(known: _Known, period: str) -> tuple[Evidence, RunRecord | None]:
    project = known.project
    index = get_project_periods(known.loaded.catalog, known.definition)
    index.get_period(period, project.level)
    snapshots = RunSnapshots(storage=RuntimeHook(known.dag.runtime_conn_id).storage)
    with open_registry(known.dag.runtime_conn_id) as registry:
        work = Work(project.name, period)
        evidence = gather_evidence(registry, known.plan, work, project.calendar, project.level, snapshots)
        return evidence, registry.find_run(evidence.run.run_id) if evidence.run is not None else None


def _list_known(dags: Sequence[ProjectDag]) -> Iterator[_Known]:
    """Yield the DAGs whose catalog can be read here, with one plan for each catalog and registry."""
    plans: dict[tuple[str, str], Plan] = {}
    for dag in dags:
        hook = RuntimeHook(dag.runtime_conn_id)
        root = hook.resolve_catalog_path(dag.catalog)
        loaded = _catalogs.load(Path(root))
        definition = loaded.catalog.find_project(dag.project) if loaded is not None else None
        if loaded is None or definition is None:
            continue
        key = (str(root), dag.runtime_conn_id)
        if key not in plans:
            with open_registry(dag.runtime_conn_id) as registry:
                plans[key] = make_plan(loaded, registry, Scope(), RunSnapshots(storage=hook.storage))
        yield _Known(dag, definition, loaded, plans[key])


def _choose_group(known: Sequence[_Known], groups: Sequence[tuple[str, str]], wanted: Filter) -> tuple[str, str]:
    asked = (wanted.calendar or "", wanted.level or "")
    if asked in groups:
        return asked
    counts = {group: sum((found.project.calendar, found.project.level) == group for found in known) for group in groups}
    return max(groups, key=lambda group: counts[group], default=("gregorian", "month"))


def _describe_periods(known: Sequence[_Known], periods: Sequence[Period]) -> list[dict[str, Any]]:
    records: dict[str, PeriodRecord] = {}
    for conn_id, calendar in {(found.dag.runtime_conn_id, found.project.calendar) for found in known}:
        with open_registry(conn_id) as registry:
            records |= {record.period: record for record in registry.list_periods(calendar)}
    statuses = {entry.work.period: entry.status for found in known for _, entry in found.list_entries()}
    return [
        {
            "period": period.identifier,
            "start_date": period.start_date.isoformat(),
            "end_date": period.end_date.isoformat(),
            "status": statuses.get(period.identifier, period.status),
            "who": records[period.identifier].who if period.identifier in records else "",
            "reason": records[period.identifier].reason if period.identifier in records else "",
        }
        for period in periods
    ]


def _make_cell(known: _Known, period: Period, entry: Entry) -> dict[str, Any]:
    return {
        "state": entry.state,
        "late_since": _find_late(known.project, period, entry),
        "checks": None,
        "approval": "waiting" if entry.state == "staged" else None,
        "published_at": None,
        "rows": None,
        "reasons": [f"{reason.kind}: {reason.detail}" for reason in entry.reasons],
    }


def _find_late(project: Project, period: Period, entry: Entry) -> str | None:
    """Return the day since which a period that is not published is late."""
    settings = project.airflow
    if entry.state in ("fresh", "stale") or settings is None or settings.deadline is None:
        return None
    allowed = settings.deadline.after_period_end
    if allowed is None:
        return None
    due = datetime.combine(period.end_date, datetime.min.time(), UTC) + timedelta(days=1) + parse_duration(allowed)
    return due.date().isoformat() if due < datetime.now(UTC) else None


def _link_run(run: RunRecord | None) -> dict[str, str | None]:
    """Return links to the DAG run that asked for a run, which its invocation names."""
    parts = (run.invocation or "").split("/") if run is not None else []
    if len(parts) < 5:
        return {"dag_run": None, "log": None}
    dag_id, task_id, *middle, _, _ = parts
    base = conf.get("api", "base_url", fallback="/").rstrip("/")
    page = f"{base}/dags/{quote(dag_id, safe='')}/runs/{quote('/'.join(middle), safe='')}"
    return {"dag_run": page, "log": f"{page}/tasks/{quote(task_id, safe='')}"}

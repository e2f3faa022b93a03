"""A plan from a catalog's folder and a registry, and whether a plan still holds."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from airflow_provider_runtime.core.catalog.loader import LoadResult, load_catalog
from airflow_provider_runtime.core.errors import PlanError, Problem, raise_problems
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.validation import get_project
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods, get_run_period
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from airflow_provider_runtime.core.planning.stale.past import PastRuns, collect_past_runs
from airflow_provider_runtime.core.planning.stale.plan import Plan, Scope
from airflow_provider_runtime.core.planning.stale.planner import Planner
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.tables.addresses import PropertyReader

RECORDED = RunSnapshots()
"""Snapshots at the addresses that the registry has recorded."""


def make_plan(
    catalog: Path | LoadResult,
    registry: Registry,
    scope: Scope | None = None,
    snapshots: RunSnapshots = RECORDED,
    past: PastRuns | None = None,
    read_properties: PropertyReader | None = None,
) -> Plan:
    """Return the state of every project and period in scope."""
    scope = scope or Scope()
    loaded = _load(catalog, scope) if isinstance(catalog, Path) else catalog

    def read(reading: Registry) -> Planner:
        known = past or collect_past_runs(reading.list_last_runs(reports=False))
        planner = Planner(loaded, registry, known, Fingerprints().take, snapshots, scope, read_properties)
        planner.read(reading)
        return planner

    # Files and other sources are looked at after the registry's transaction has ended.
    return registry.read_together(read).make_plan()


def _load(catalog: Path, scope: Scope) -> LoadResult:
    loaded = load_catalog(catalog, project=scope.project)
    if scope.project is None:
        # A plan of everything that leaves out what cannot be read would look complete.
        raise_problems(loaded.problems)
    return loaded


def find_work(loaded: LoadResult, project: str, period: str) -> tuple[Project, Period]:
    """Return a project and its period; PROJECT_00x and PERIOD_001 when there is none."""
    definition = get_project(loaded, project)
    return definition.model, get_run_period(get_project_periods(loaded.catalog, definition), period, definition)


def check_plan(
    document: Any,
    catalog: Path | LoadResult,
    registry: Registry,
    snapshots: RunSnapshots = RECORDED,
    read_properties: PropertyReader | None = None,
) -> Plan:
    """Return the plan that a document holds; PLAN_001 when it was edited or anything has moved since it was made."""
    try:
        scope = Scope(
            document["scope"]["project"], document["scope"]["period"], date.fromisoformat(document["scope"]["today"])
        )
        plan_id = str(document["plan_id"])
    except (KeyError, TypeError, ValueError):
        hint = "make one with `airflow-runtime plan --output FILE`"
        raise PlanError(Problem("PLAN_001", "this is not a plan", hint)) from None
    plan = make_plan(catalog, registry, scope, snapshots, read_properties=read_properties)
    moved = _list_moved(document, plan)
    if plan.plan_id != plan_id:
        where = f": {moved}" if moved else " (files, versions or runs)"
        message = f"something has moved since the plan was made{where}"
        raise PlanError(Problem("PLAN_001", message, "make a new plan and look at it again"))
    if document.get("entries") != plan.to_document()["entries"]:
        message = f"the plan's file was edited{f': {moved}' if moved else ''}"
        hint = "a plan runs as it was made; make one of a part with `airflow-runtime plan --project P --period X..Y`"
        raise PlanError(Problem("PLAN_001", message, hint))
    return plan


def _list_moved(document: dict[str, Any], plan: Plan) -> str:
    """Return the entries of a document that are not those of a plan, in words."""
    listed = document.get("entries")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    before = {(str(entry.get("project")), str(entry.get("period"))): entry for entry in entries}
    now = {(entry["project"], entry["period"]): entry for entry in plan.to_document()["entries"]}
    moved = [
        f"{name}, {period}"
        for name, period in {**before, **now}
        if before.get((name, period)) != now.get((name, period))
    ]
    return "; ".join(moved[:8]) + ("; …" if len(moved) > 8 else "")

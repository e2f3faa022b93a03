"""A plan from a catalog's folder and a registry, and whether a plan still holds."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from airflow_provider_runtime.core.catalog.loader import LoadResult, load_catalog
from airflow_provider_runtime.core.errors import PlanError, Problem, get_error_class, raise_problems
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.validation import explain_missing
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods, get_run_period
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from airflow_provider_runtime.core.planning.stale.look import Look
from airflow_provider_runtime.core.planning.stale.past import PastRuns, collect_past_runs
from airflow_provider_runtime.core.planning.stale.plan import Plan, Scope, Work
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
    past = past or collect_past_runs(registry.list_last_runs())
    return Look(loaded, registry, past, Fingerprints().take, snapshots, scope, read_properties).make_plan()


def _load(catalog: Path, scope: Scope) -> LoadResult:
    loaded = load_catalog(catalog, project=scope.project)
    if scope.project is None:
        # A plan of everything that leaves out what cannot be read would look complete.
        raise_problems(loaded.problems)
    return loaded


def find_work(loaded: LoadResult, project: str, period: str) -> tuple[Work, Project]:
    """Return a project's period as plans name it, with the project; PROJECT_00x and PERIOD_001 when there is none."""
    definition = loaded.catalog.find_project(project)
    if definition is None:
        problems = explain_missing(loaded.catalog, loaded, project)
        raise get_error_class(problems[0].code)(problems)
    found = get_run_period(get_project_periods(loaded.catalog, definition), period, definition)
    return Work(definition.model.name, found.identifier), definition.model


def check_plan(
    document: Any,
    catalog: Path | LoadResult,
    registry: Registry,
    snapshots: RunSnapshots = RECORDED,
    read_properties: PropertyReader | None = None,
) -> Plan:
    """Return the plan that a document holds; PLAN_001 when anything has moved since it was made."""
    try:
        scope = Scope(
            document["scope"]["project"], document["scope"]["period"], date.fromisoformat(document["scope"]["today"])
        )
        plan_id = str(document["plan_id"])
    except (KeyError, TypeError, ValueError):
        hint = "make one with `airflow-runtime plan --output FILE`"
        raise PlanError(Problem("PLAN_001", "this is not a plan", hint)) from None
    plan = make_plan(catalog, registry, scope, snapshots, read_properties=read_properties)
    if plan.plan_id != plan_id:
        raise PlanError(Problem("PLAN_001", _describe_move(document, plan), "make a new plan and look at it again"))
    return plan


def _describe_move(document: dict[str, Any], plan: Plan) -> str:
    listed = document.get("entries")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    before = {(str(entry.get("project")), str(entry.get("period"))): entry for entry in entries}
    now = {(entry["project"], entry["period"]): entry for entry in plan.to_document()["entries"]}
    moved = [
        f"{name}, {period}"
        for name, period in {**before, **now}
        if before.get((name, period)) != now.get((name, period))
    ]
    shown = "; ".join(moved[:8]) + ("; …" if len(moved) > 8 else "")
    return f"something has moved since the plan was made{f': {shown}' if shown else ' (files, versions or runs)'}"

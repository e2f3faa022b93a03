"""The evidence of a project's period, with links into Airflow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from airflow.configuration import conf
from fastapi import HTTPException

from airflow_provider_runtime.board.catalogs import open_registry
from airflow_provider_runtime.board.dags import (
    find_dag_run,
    find_place,
    list_failed_tasks,
    list_partitioned,
    list_paused,
)
from airflow_provider_runtime.board.projects import (
    Defined,
    Known,
    get_defined,
    get_known,
    list_defined,
    list_readable_projects,
)
from airflow_provider_runtime.core.evidence.deadline import find_due
from airflow_provider_runtime.core.evidence.gather import Evidence, gather_evidence
from airflow_provider_runtime.core.evidence.page import render_page
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.plan import Work
from airflow_provider_runtime.core.registry.ports import Registry, RunRecord
from airflow_provider_runtime.hooks.runtime import RuntimeHook

Document = dict[str, Any]


def make_evidence(
    dag_id: str, period: str, project: str | None, readable: Collection[str], *, may_edit: bool
) -> Document:
    """Return the evidence of a DAG's project for a period."""
    known = get_known(dag_id, project)
    with open_registry(known.dag.runtime_conn_id) as registry:
        evidence = _gather(registry, known, period, readable)
        shown = evidence.run.run_id if evidence.run is not None else None
        latest = evidence.latest.run.run_id if evidence.latest is not None else None
        links = {**_link(registry, known, period, shown), "latest": _link(registry, known, period, latest)}
    links["file"] = _make_address(known, period, "evidence.html")
    of_dag = {
        "dag_id": dag_id,
        "is_paused": bool(list_paused([dag_id])),
        "is_partitioned": bool(list_partitioned([dag_id])),
        "needs_approval": known.project.publication.approval is not None,
        "may_edit": may_edit,
    }
    return {**evidence.to_document(), **of_dag, "links": links}


def make_evidence_of_run(
    dag_id: str, run_id: str, project: str | None, readable: Collection[str], *, may_edit: bool
) -> Document:
    """Return the evidence of the period that a DAG run was for, and the state of that DAG run."""
    run = find_dag_run(dag_id, run_id)
    if run is None:
        raise HTTPException(404, "this DAG has no such run")
    period = run.partition_key or (run.conf or {}).get("period")
    if not period:
        raise HTTPException(404, "this run has no period")
    page = _make_page(dag_id, run_id)
    failed = [{"task_id": task, "log": f"{page}/tasks/{quote(task, safe='')}"} for task in list_failed_tasks(run)]
    evidence = make_evidence(dag_id, str(period), project, readable, may_edit=may_edit)
    projects = [defined.project.name for defined in list_defined(dag_id, [])]
    return {**evidence, "projects": projects, "airflow": {"state": str(run.state), "failed": failed}}


def make_evidence_file(dag_id: str, period: str, project: str | None, readable: Collection[str]) -> str:
    """Return the evidence as one HTML file."""
    known = get_known(dag_id, project)
    with open_registry(known.dag.runtime_conn_id) as registry:
        return render_page(_gather(registry, known, period, readable))


def read_snapshot(dag_id: str, period: str, project: str | None, run_id: str) -> bytes:
    """Return the snapshot of a run of a period, as it was written."""
    known = get_defined(dag_id, project)
    with open_registry(known.dag.runtime_conn_id) as registry:
        run = get_run(registry, known, period, run_id)
    snapshots = _open_snapshots(known)
    snapshots.read(run)
    return RuntimeHook(known.dag.runtime_conn_id).storage.read_bytes(snapshots.locate(run))


def read_report(dag_id: str, period: str, project: str | None, run_id: str) -> Document:
    """Return the report of a run of a period, without the rows that it shows as samples."""
    known = get_defined(dag_id, project)
    with open_registry(known.dag.runtime_conn_id) as registry:
        run = get_run(registry, known, period, run_id)
    if run.report is None:
        raise HTTPException(404, "this run has no report yet")
    report: Document = _leave_samples_out(run.report)
    return report


def get_run(registry: Registry, known: Defined, period: str, run_id: str) -> RunRecord:
    """Return a run of this project and period: the user may not be allowed to see others."""
    run = registry.find_run(run_id)
    if run is None or (run.project_id, run.period) != (known.project.id, period):
        raise HTTPException(404, "the project has no such run for this period")
    return run


def _gather(registry: Registry, known: Known, period: str, readable: Collection[str]) -> Evidence:
    """Return the evidence; of what depends on the period, as much as somebody may see."""
    project, plan = known.project, known.sight.plan
    due = find_due(project, known.index.get_period(period, project.level))
    work = Work(project.name, period)
    evidence = gather_evidence(registry, plan, work, project.calendar, project.level, _open_snapshots(known), due)
    if evidence.downstream is None:
        return evidence
    visible = set(list_readable_projects(readable))
    shown = [entry for entry in evidence.downstream if _is_visible(known, entry["project"], visible)]
    return replace(evidence, downstream=shown)


def _open_snapshots(known: Defined) -> RunSnapshots:
    return RunSnapshots(storage=RuntimeHook(known.dag.runtime_conn_id).storage)


def _is_visible(known: Known, project: str, visible: Collection[str]) -> bool:
    """Return whether somebody may see a DAG of a project, which the DAG knows by name or by id."""
    definition = known.loaded.catalog.find_project(project)
    return project in visible or (definition is not None and definition.model.id in visible)


def _leave_samples_out(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _leave_samples_out(item) for key, item in value.items() if key != "sample"}
    return [_leave_samples_out(item) for item in value] if isinstance(value, list) else value


def _link(registry: Registry, known: Known, period: str, run_id: str | None) -> Document:
    """Return links to a run's snapshot and report, and to the DAG run that asked for it."""
    links: Document = dict.fromkeys(("dag_run", "log", "snapshot", "report"))
    if run_id is None:
        return links
    links["snapshot"] = _make_address(known, period, "snapshot.json", run_id=run_id)
    links["report"] = _make_address(known, period, "report.json", run_id=run_id)
    place = find_place(get_run(registry, known, period, run_id))
    if place is not None:
        links["dag_run"] = _make_page(place.dag_id, place.run_id)
        links["log"] = f"{links['dag_run']}/tasks/{quote(place.task_id, safe='')}"
    return links


def _make_address(known: Known, period: str, name: str, **query: str) -> str:
    """Return the address of one of the board's routes, as the page's base tag has it."""
    place = f"api/dags/{quote(known.dag.dag_id, safe='')}/periods/{quote(period, safe='')}/{name}"
    return f"runtime-board/{place}?{urlencode({'project': known.project.name, **query})}"


def _make_page(dag_id: str, run_id: str) -> str:
    base = conf.get("api", "base_url", fallback="/").rstrip("/")
    return f"{base}/dags/{quote(dag_id, safe='')}/runs/{quote(run_id, safe='')}"

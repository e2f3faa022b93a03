"""Approving and refusing on the board: the same rules and records as on the command line and in Airflow's own task."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_provider_runtime.board.catalogs import open_registry
from airflow_provider_runtime.board.dags import find_place, find_request
from airflow_provider_runtime.board.evidence import get_run
from airflow_provider_runtime.board.projects import get_defined
from airflow_provider_runtime.core.calendar.run_period import PeriodRules, list_period_problems
from airflow_provider_runtime.core.errors import PlanError, Problem, raise_problems
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.registry.ports import Decision, Registry, RunRecord
from airflow_provider_runtime.core.runs.approval import AIRFLOW, Person, approve_run, find_answer, refuse_run
from airflow_provider_runtime.core.runs.staged_files import remove_staged_files
from airflow_provider_runtime.hooks.runtime import RuntimeHook
from spark_jobs.contract.plan import PublicationSettings


def decide(
    dag_id: str, period: str, run_id: str, decision: Decision, comment: str, user: BaseUser, project: str | None = None
) -> dict[str, Any]:
    """Record a decision on what a run has staged; name the task of Airflow that waits for it, if one does."""
    known = get_defined(dag_id, project)
    snapshots = RunSnapshots(storage=RuntimeHook(known.dag.runtime_conn_id).storage)
    with open_registry(known.dag.runtime_conn_id) as registry:
        run = get_run(registry, known, period, run_id)
        settings = snapshots.read(run).plan.settings.publication
        if decision == "approved":
            # Nothing of a closed period is published: an approval would promise it.
            found = known.index.get_period(period, known.project.level)
            rules, today = PeriodRules(asked_in="airflow"), datetime.now(UTC).date()
            raise_problems(list_period_problems(known.index, found, rules, registry=registry, today=today))
        _keep(registry, settings, run, decision, comment, name_person(user, settings))
    place = find_place(run)
    request = find_request(place) if place is not None else None
    verb = "is approved" if decision == "approved" else "is refused: what it has staged is discarded"
    follows = {
        ("approved", True): "; Airflow publishes it now",
        ("approved", False): f"; publish it with `airflow-runtime publish {run.run_id}`",
    }.get((decision, request is not None), "")
    return {"message": f"run {run.run_id} {verb}{follows}", "request": request}


def name_person(user: BaseUser, settings: PublicationSettings) -> Person:
    """Return who decides: Airflow's users are known by their name or their id."""
    names = list(dict.fromkeys(str(found) for found in (user.get_name(), user.get_id()) if found))
    name = next((found for found in names if found in settings.by), names[0])
    return Person(name, real_user=names[-1], host=AIRFLOW)


def _keep(
    registry: Registry, settings: PublicationSettings, run: RunRecord, decision: Decision, comment: str, person: Person
) -> None:
    known = find_answer(registry, run)
    if known is not None and (known.decision, known.approver) == (decision, person.name):
        # The answer was kept, and got lost on its way.
        return
    if decision == "approved":
        if not settings.needs_approval:
            message = f"project '{run.project_name}' asks for no approval"
            raise PlanError(Problem("PLAN_001", message, f"publish it with `airflow-runtime publish {run.run_id}`"))
        approve_run(registry, settings, run, person, comment)
    else:
        refuse_run(registry, run, person, comment)
        remove_staged_files(run)

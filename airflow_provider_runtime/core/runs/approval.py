"""Approval: who ran a project does not approve what it publishes.

Command line, Airflow's task and the board decide through these functions; what was decided is kept in the registry, for
the very attempt whose rows were looked at. Publishing asks the registry, so that nothing else can take its place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_runtime.core.errors import ApprovalError, PlanError, Problem
from airflow_provider_runtime.core.registry.ports import Approval, Decision, Registry, RunRecord
from airflow_provider_runtime.core.suggest import list_names
from spark_jobs.contract.plan import PublicationSettings

AIRFLOW = "airflow"
"""The host of decisions that were made in Airflow."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who decides."""

    name: str
    claimed_name: str | None = None
    real_user: str = ""
    host: str = ""


def find_answer(registry: Registry, run: RunRecord) -> Approval | None:
    """Return the last decision on the rows that a run has staged, None while nobody has decided."""
    return next((found for found in reversed(registry.list_approvals(run.run_id)) if found.token == run.token), None)


def list_approvers(settings: PublicationSettings, run: RunRecord) -> list[str]:
    """Return who may approve a run; APPROVAL_001 when its only approver is the one who ran it."""
    found = [name for name in settings.by if name != run.who]
    if not found:
        message = f"'{run.who}' ran {run.project_name} for period {run.period} and is its only approver"
        raise ApprovalError(Problem("APPROVAL_001", message, "add another name to `publication.by`"))
    return found


def approve_run(
    registry: Registry,
    settings: PublicationSettings,
    run: RunRecord,
    person: Person,
    comment: str,
    *,
    at: datetime | None = None,
) -> Approval:
    """Record the approval of what a run has staged; APPROVAL_001 when this person may not."""
    check_approver(settings, run, person)
    if run.staged_until is None:
        message = f"run {run.run_id} is {run.status}: nothing is staged that could be approved"
        raise PlanError(Problem("PLAN_001", message, "see `airflow-runtime runs`"))
    return _record(registry, run, person, "approved", comment, at)


def refuse_run(
    registry: Registry, run: RunRecord, person: Person, comment: str, *, at: datetime | None = None
) -> RunRecord:
    """Discard what a run has staged, and record who refused it."""
    discarded = registry.discard_staged(run.run_id, who=person.name, reason=comment.strip() or "no reason was given")
    _record(registry, run, person, "refused", comment, at)
    return discarded


def check_approver(settings: PublicationSettings, run: RunRecord, person: Person) -> None:
    """Raise APPROVAL_001 unless this person may decide on the run."""
    if _is_preparer(run, person):
        message = f"'{person.name}' ran {run.project_name} for period {run.period} and cannot approve it"
        raise ApprovalError(Problem("APPROVAL_001", message, _ask(settings.by)))
    if person.name not in settings.by:
        message = f"'{person.name}' is not an approver of project '{run.project_name}'"
        raise ApprovalError(Problem("APPROVAL_001", message, _ask(settings.by)))


def require_comment(run: RunRecord, comment: str) -> None:
    """Raise APPROVAL_001 when no comment was given."""
    if not comment.strip():
        message = f"publishing a run of project '{run.project_name}' needs a comment"
        raise ApprovalError(Problem("APPROVAL_001", message, "say why with --comment TEXT"))


def _is_preparer(run: RunRecord, person: Person) -> bool:
    return person.name == run.who or (person.claimed_name is None and person.real_user == run.who)


def _ask(names: Collection[str]) -> str:
    return f"ask one of {list_names(list(names))}"


def _record(
    registry: Registry, run: RunRecord, person: Person, decision: Decision, comment: str, at: datetime | None
) -> Approval:
    return registry.add_approval(
        Approval(
            run_id=run.run_id,
            decision=decision,
            preparer=run.who,
            approver=person.name,
            claimed_name=person.claimed_name,
            real_user=person.real_user,
            host=person.host,
            comment=comment.strip(),
            token=run.token,
            at=at,
        )
    )

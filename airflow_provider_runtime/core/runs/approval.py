"""Approval: who ran a project does not approve what it publishes."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.errors import ApprovalError, Problem
from airflow_provider_runtime.core.registry.ports import Approval, Decision, Registry, RunRecord
from airflow_provider_runtime.core.suggest import list_names
from spark_jobs.contract.plan import PublicationSettings


@dataclass(frozen=True, slots=True)
class Person:
    """Who decides."""

    name: str
    claimed_name: str | None = None
    real_user: str = ""
    host: str = ""


def check_approver(settings: PublicationSettings, run: RunRecord, person: Person, comment: str) -> None:
    """Raise APPROVAL_001 unless this person may approve the run."""
    if not settings.needs_approval:
        return
    preparers = {run.who}
    if person.name in preparers or (person.real_user in preparers and person.claimed_name is None):
        message = f"'{person.name}' ran {run.project_name} for period {run.period} and cannot approve it"
        raise ApprovalError(Problem("APPROVAL_001", message, f"ask one of {list_names(settings.by)}"))
    if person.name not in settings.by:
        message = f"'{person.name}' is not an approver of project '{run.project_name}'"
        raise ApprovalError(Problem("APPROVAL_001", message, f"ask one of {list_names(settings.by)}"))
    if not comment.strip():
        message = f"publishing a run of project '{run.project_name}' needs a comment"
        raise ApprovalError(Problem("APPROVAL_001", message, "say why with --comment TEXT"))


def record_decision(registry: Registry, run: RunRecord, person: Person, decision: Decision, comment: str) -> Approval:
    """Keep what somebody decided on a staged run."""
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
        )
    )

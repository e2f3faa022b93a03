"""Approve: a person looks at what a run has staged, and lets it be published or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.execution_time.hitl import HITLUser

from airflow_provider_runtime.core.errors import PlanError, Problem
from airflow_provider_runtime.failures import translate_errors
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID, RuntimeHook
from airflow_provider_runtime.operators.links import EvidenceLink, LinkedRun, ReportLink, SnapshotLink
from airflow_provider_runtime.operators.pins import open_pinned

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Approval, Registry, RunRecord
    from spark_jobs.contract.snapshot import Snapshot

COMMENT = "comment"


class ApproveRunOperator(ApprovalOperator):
    """Asks the project's approvers whether what RunProjectOperator has staged is published.

    The request shows what would change for readers, and what came of the checks. Who has triggered or backfilled the
    run is not asked. The answer is kept in the registry, with who and when, and stands for these very rows: when the
    task is cleared, nobody is asked again until something else is staged. A refusal discards the rows.

    :param snapshot: what ResolveOperator returned (or its XComArg)
    :param runtime_conn_id: connection of type `runtime`
    """

    template_fields: Collection[str] = (*ApprovalOperator.template_fields, "snapshot", "runtime_conn_id")
    operator_extra_links = (EvidenceLink(), SnapshotLink(), ReportLink())
    ui_color = "#fff8c5"

    def __init__(
        self,
        *,
        snapshot: Any = None,
        runtime_conn_id: str = DEFAULT_CONN_ID,
        subject: str = "Publish what the run has staged?",
        retries: int = 2,
        **kwargs: Any,
    ) -> None:
        comment = Param("", type="string", title="Comment", description="Kept in the registry with the answer.")
        kwargs.setdefault("params", {COMMENT: comment})
        super().__init__(subject=subject, retries=retries, **kwargs)
        self.snapshot = snapshot
        self.is_snapshot_literal = isinstance(snapshot, Mapping)
        self.runtime_conn_id = runtime_conn_id
        self.linked_run: LinkedRun | None = None

    def execute(self, context: Context) -> Any:
        """Ask, unless the registry has an answer for what is staged."""
        with translate_errors():
            answer = self._prepare(context)
        if answer is None:
            return super().execute(context)
        if answer["decision"] == "refused":
            self._skip_publication(context)
        return answer

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Keep the answer in the registry, before anything follows from it."""
        answer: dict[str, Any] | None = None
        if "error" not in event:
            self.validate_chosen_options(event["chosen_options"])
            with translate_errors():
                answer = self._keep_answer(context, event)
        super().execute_complete(context, event)
        return answer

    def _prepare(self, context: Context) -> dict[str, Any] | None:
        """Fill the request in; or return the answer that was given before."""
        from airflow_provider_runtime.core.evidence.request import render_request
        from airflow_provider_runtime.core.runs.approval import find_answer, list_approvers

        hook, snapshot = self._open(context)
        registry = hook.open_registry()
        try:
            run = _get_run(registry, snapshot)
            answer = find_answer(registry, run)
            if answer is not None:
                self.log.info("%s by %s; nobody is asked again", answer.decision, answer.approver)
                return _describe(answer)
            if run.status == "succeeded":
                self.log.info("it was published before; nobody is asked")
                return {"run_id": run.run_id, "decision": "published"}
            _require_staged(run)
            names = list_approvers(snapshot.plan.settings.publication, run)
        finally:
            registry.close()
        self.subject = f"Publish {run.project_name} for {run.period}?"
        self.body = render_request(run)
        self.assigned_users = [HITLUser(id=name, name=name) for name in names]
        if self.response_timeout is None and run.staged_until is not None:
            # Rows that are no longer kept could not be published.
            self.response_timeout = run.staged_until - datetime.now(UTC)
        return None

    def _keep_answer(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        from airflow_provider_runtime.core.runs.approval import AIRFLOW, Person, approve_run, find_answer, refuse_run
        from airflow_provider_runtime.core.runs.staged_files import remove_staged_files

        hook, snapshot = self._open(context)
        settings = snapshot.plan.settings.publication
        user = event["responded_by_user"] or {}
        names = [str(user[key]) for key in ("name", "id") if user.get(key)]
        name = next((found for found in names if found in settings.by), names[0] if names else "nobody")
        comment = str((event.get("params_input") or {}).get(COMMENT) or "")
        decision = "approved" if event["chosen_options"] == [self.APPROVE] else "refused"
        registry = hook.open_registry()
        try:
            run = _get_run(registry, snapshot)
            # An approver may be listed by id; who ran it is known by name.
            person = Person(run.who if run.who in names else name, real_user=names[-1] if names else "", host=AIRFLOW)
            known = find_answer(registry, run)
            # A try that ended right here has kept it, or the same person has on the board.
            if known is None or known.decision != decision:
                at = event.get("responded_at")
                if decision == "approved":
                    approve_run(registry, settings, run, person, comment, at=at)
                else:
                    refuse_run(registry, run, person, comment, at=at)
                known = find_answer(registry, run)
        finally:
            registry.close()
        assert known is not None
        self.log.info("%s by %s", known.decision, known.approver)
        if known.decision == "refused":
            remove_staged_files(run)
        return _describe(known)

    def _open(self, context: Context) -> tuple[RuntimeHook, Snapshot]:
        hook = RuntimeHook(self.runtime_conn_id)
        _, snapshot = open_pinned(self, context, hook)
        self.linked_run = LinkedRun.of(context, snapshot)
        return hook, snapshot

    def _skip_publication(self, context: Context) -> None:
        tasks = context["task"].get_direct_relatives(upstream=False)
        self.skip(ti=context["ti"], tasks=[task for task in tasks if not task.is_teardown])


def _get_run(registry: Registry, snapshot: Snapshot) -> RunRecord:
    run = registry.find_run(snapshot.sha256)
    if run is None:
        message = f"run {snapshot.run_id} is not known to the registry"
        raise PlanError(Problem("PLAN_001", message, "clear the task `run`"))
    return run


def _require_staged(run: RunRecord) -> None:
    if run.staged_until is None or run.status != "staged":
        why = f": {run.error['message']}" if run.error is not None else ""
        message = f"run {run.run_id} is {run.status}{why}: nothing is staged that could be approved"
        raise PlanError(Problem("PLAN_001", message, "clear the task `run`, or look at `airflow-runtime runs`"))
    if run.staged_until < datetime.now(UTC):
        message = f"what run {run.run_id} has staged was kept until {run.staged_until:%Y-%m-%d %H:%M} UTC"
        raise PlanError(Problem("PLAN_001", message, "clear the task `run`"))


def _describe(answer: Approval) -> dict[str, Any]:
    return {
        "run_id": answer.run_id,
        "decision": answer.decision,
        "approver": answer.approver,
        "preparer": answer.preparer,
        "comment": answer.comment,
        "at": None if answer.at is None else answer.at.isoformat(),
    }

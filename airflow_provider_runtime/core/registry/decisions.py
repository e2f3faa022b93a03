"""What people decide about runs: publish or discard what is staged, override a check, release a period."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.errors import (
    ApprovalError,
    DefinitionError,
    LeaseError,
    PlanError,
    Problem,
    RuntimeProviderError,
)
from airflow_provider_runtime.core.registry.attempts import (
    check_overrides,
    check_period,
    describe_replaced,
    lengthen_lease,
    make_attempt,
    refuse_held_lease,
)
from airflow_provider_runtime.core.registry.leases import is_alive
from airflow_provider_runtime.core.registry.ports import Approval, Attempt, Override, Release, RunRecord, RunStart
from airflow_provider_runtime.core.registry.publications import discard, get_last_number
from airflow_provider_runtime.core.registry.store import Store, to_datetime


def begin_publication(
    store: Store, start: RunStart, holder: str, lease_seconds: float
) -> Attempt | RuntimeProviderError:
    """Take the lease again for what a run has staged.

    An error is returned, not raised, where the transaction has something to keep.
    """
    run = store.find_run(start.snapshot_sha256)
    if run is not None and run.status == "succeeded":
        return make_attempt(start, run.token, run.attempt, holder, lease_seconds, published=run)
    check_period(store, start)
    now = store.now_millis()
    if run is not None:
        _check_base(store, run)
        check_overrides(store, start, _list_overridden(run))
    if run is not None and run.status == "discarded" and run.error is not None:
        message = f"what run {run.run_id} has staged was given up: {run.error['message']}"
        raise LeaseError(Problem("RUN_002", message, "run it again"))
    lease = store.find_lease(start.project_id, start.period)
    if run is None or run.staged_until is None or lease is None or lease.token != run.token:
        raise LeaseError(describe_replaced(start.project_name, start.period, lease, run.token if run else 0))
    if is_alive(lease, now):
        return refuse_held_lease(store, start, lease, now, lease_seconds)
    if run.staged_until < to_datetime(now):
        message = f"what run {run.run_id} has staged was kept until {run.staged_until:%Y-%m-%d %H:%M} UTC"
        raise PlanError(Problem("PLAN_001", message, "run it again"))
    if start.needs_approval:
        _check_approval(store, run)
    store.put_run(replace(run, status="running", finished_at=None, error=None))
    store.put_lease(lengthen_lease(replace(lease, holder=holder, state="held"), now, lease_seconds))
    return make_attempt(start, run.token, run.attempt, holder, lease_seconds, staged=run)


def discard_staged(store: Store, key: str, who: str, reason: str) -> RunRecord:
    """Discard what a run has staged."""
    run = store.find_run(key)
    if run is None or run.staged_until is None:
        state = f"is {run.status}" if run else "is not known"
        raise PlanError(Problem("PLAN_001", f"run {key} {state}: nothing is staged", "see `airflow-runtime runs`"))
    lease = store.find_lease(run.project_id, run.period)
    now = store.now_millis()
    if lease is not None and lease.token == run.token:
        if is_alive(lease, now):
            message = f"run {run.run_id} is being published"
            raise LeaseError(Problem("RUN_001", message, "wait for it to end"))
        _refuse_half_done(run)
        store.put_lease(replace(lease, state="free"))
    return discard(store, run, now, {"code": "APPROVAL_001", "message": f"discarded by {who}: {reason}"})


def _refuse_half_done(run: RunRecord) -> None:
    """Raise PLAN_001 when a publication was begun and may be half done: discarding the rest would leave it so."""
    if run.status in ("running", "revoked") or (run.error or {}).get("cut_short"):
        message = f"the publication of run {run.run_id} was begun and did not end: some of its outputs may be published"
        raise PlanError(Problem("PLAN_001", message, "publish it again, which completes it, or run the period again"))


def release(store: Store, project: str, period: str, who: str, reason: str) -> Release:
    """Take the lease from its holder, and make the next token larger than all that are known."""
    runs = store.list_runs(project, period, None)
    if not runs:
        message = f"project '{project}' has no run for period {period}: there is nothing to release"
        raise PlanError(Problem("PLAN_001", message, "see `airflow-runtime runs`"))
    project_id = runs[0].project_id
    lease = store.find_lease(project_id, period)
    found = [run.token for run in runs]
    found += [int((run.report or {}).get("newest_token") or 0) for run in runs]
    token = max([*found, lease.token if lease else 0])
    now = store.now_millis()
    number = len(store.list_releases(project_id, period)) + 1
    if lease is not None:
        store.put_lease(replace(lease, token=token, state="free"))
    released = Release(project_id, period, number, token, who, reason, to_datetime(now))
    store.add_release(released)
    return released


def add_override(store: Store, project_id: str, period: str, check: str, who: str, reason: str) -> Override:
    """Let a check of a period pass; one that passes already is left as it is, for the reason that was given."""
    found = [item for item in store.list_overrides(project_id, period) if item.check == check]
    if found and found[-1].withdrawn_at is None:
        held = found[-1]
        if (held.who, held.reason) == (who, reason):
            return held
        message = f"check '{check}' of period {period} is overridden already"
        given = f"by {held.who} at {held.at:%Y-%m-%d %H:%M} UTC: {held.reason}"
        hint = "withdraw that override first to give another reason"
        raise DefinitionError(Problem("CHECK_002", f"{message}, {given}", hint))
    moment = to_datetime(store.now_millis())
    override = Override(project_id, period, check, len(found) + 1, who, reason, moment)
    store.put_override(override)
    return override


def withdraw_override(store: Store, project_id: str, period: str, check: str, who: str, reason: str) -> Override | None:
    """End the override of a check."""
    found = [item for item in store.list_overrides(project_id, period) if item.check == check]
    if not found or found[-1].withdrawn_at is not None:
        return None
    now = to_datetime(store.now_millis())
    withdrawn = replace(found[-1], withdrawn_by=who, withdrawn_at=now, withdrawn_reason=reason or None)
    store.put_override(withdrawn)
    return withdrawn


def add_approval(store: Store, approval: Approval) -> Approval:
    """Record a decision on a staged run."""
    # The time is the key beside the run: two decisions in one millisecond are two decisions.
    latest = [round(item.at.timestamp() * 1000) for item in store.list_approvals(approval.run_id) if item.at]
    moment = store.now_millis() if approval.at is None else round(approval.at.timestamp() * 1000)
    kept = replace(approval, at=to_datetime(max([moment, *(millis + 1 for millis in latest)])))
    store.add_approval(kept)
    return kept


def _list_overridden(run: RunRecord) -> list[str]:
    """Return the checks of a staged run that failed and that an override has let pass."""
    results = (run.report or {}).get("checks") or ()
    return [str(result.get("name")) for result in results if result.get("status") == "overridden"]


def _check_approval(store: Store, run: RunRecord) -> None:
    """Raise APPROVAL_001 unless the last decision on what this attempt has staged is an approval."""
    decisions = [found for found in store.list_approvals(run.run_id) if found.token == run.token]
    if not decisions or decisions[-1].decision != "approved":
        message = f"nobody has approved what run {run.run_id} has staged for period {run.period}"
        hint = "an approver answers in Airflow, or calls `airflow-runtime publish`"
        raise ApprovalError(Problem("APPROVAL_001", message, hint))


def _check_base(store: Store, run: RunRecord) -> None:
    """Raise PLAN_001 when the period was published by another run since this one was staged."""
    base = run.base_publication
    if base is None or get_last_number(store, run.project_id, run.period) == base:
        return
    last = store.list_publications(run.project_id, run.period, 1)[0]
    message = f"period {run.period} was published by run {last.run_id} since run {run.run_id} was staged"
    raise PlanError(Problem("PLAN_001", message, "run it again, and compare with what is published now"))

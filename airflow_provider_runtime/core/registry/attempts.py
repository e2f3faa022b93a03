"""The rules of an attempt: begin, heartbeat, publish, fail. Each function is one transaction's work over a store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_runtime.core.errors import (
    DefinitionError,
    LeaseError,
    PeriodError,
    PlanError,
    Problem,
    RuntimeProviderError,
    SnapshotError,
)
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.registry.leases import is_alive, next_token
from airflow_provider_runtime.core.registry.ports import Attempt, Registration, RunRecord, RunStart, SliceWrite
from airflow_provider_runtime.core.registry.publications import (
    add_publication,
    add_versions,
    count_checks,
    discard_older,
    get_last_number,
    list_sources,
)
from airflow_provider_runtime.core.registry.slices import register_slice
from airflow_provider_runtime.core.registry.store import LeaseRow, Store, to_datetime
from spark_jobs.contract.plan import UsedDefinition

FROM_FILE = "in the calendar's file"


def check_definitions(store: Store, definitions: Sequence[UsedDefinition]) -> list[Problem]:
    """Return a problem for each definition that was used with other content before."""
    return [
        Problem(
            "CATALOG_005",
            f"{used.kind} '{used.id}' version {used.version} has changed since it was first used",
            f"give the changed definition a new version ({used.version + 1} or higher); version {used.version} may stay"
            " beside it as it was; if the registry belongs to another catalog, use a separate registry for this one",
        )
        for used in find_changed(store, definitions)
    ]


def find_changed(store: Store, definitions: Sequence[UsedDefinition]) -> list[UsedDefinition]:
    """Return the definitions that were used with other content before."""
    known = store.find_digests([(used.kind, used.id, used.version) for used in definitions])
    return [used for used in definitions if known.get((used.kind, used.id, used.version), used.digest) != used.digest]


def begin(
    store: Store, start: RunStart, holder: str, lease_seconds: float, resume_token: int | None
) -> Attempt | RuntimeProviderError:
    """Take the lease up. An error is returned, not raised, where the transaction has something to keep."""
    run = store.find_run(start.snapshot_sha256)
    if run is not None and _is_answered(run, start, resume_token):
        answered = {"staged" if run.status == "staged" else "published": run}
        return make_attempt(start, run.token, run.attempt, holder, lease_seconds, **answered)
    _check_run_id(store, start)
    check_period(store, start)
    check_overrides(store, start)
    if problems := check_definitions(store, start.definitions):
        raise DefinitionError(problems)
    now = store.now_millis()
    lease = store.find_lease(start.project_id, start.period)
    if resume_token is not None:
        if lease and run and _can_resume(lease, run, start.snapshot_sha256, resume_token):
            store.put_run(replace(run, status="running", finished_at=None, error=None, report=None, check_counts={}))
            store.put_lease(lengthen_lease(replace(lease, holder=holder, state="held"), now, lease_seconds))
            return make_attempt(start, lease.token, run.attempt, holder, lease_seconds)
        if run is None or not _may_begin_anew(store, start, run):
            raise LeaseError(describe_replaced(start.project_name, start.period, lease, resume_token))
    if lease is not None and lease.snapshot_sha256 != start.snapshot_sha256 and lease.state == "held":
        if is_alive(lease, now):
            return refuse_held_lease(store, start, lease, now, lease_seconds)
        _record_abandoned(store, lease, now)
    known = store.find_digests([(used.kind, used.id, used.version) for used in start.definitions])
    for used in start.definitions:
        if (used.kind, used.id, used.version) not in known:
            store.add_digest(used.kind, used.id, used.version, used.digest, start.run_id)
    token = next_token(max(lease.token if lease else 0, run.token if run else 0), now)
    number = run.attempt + 1 if run else 1
    store.put_run(_make_run(start, run, token, number, now))
    discard_older(store, start.project_id, start.period, start.snapshot_sha256, now)
    fresh = LeaseRow(
        start.project_id, start.period, start.calendar, start.snapshot_sha256, holder, token, now, now, "held"
    )
    store.put_lease(lengthen_lease(fresh, now, lease_seconds))
    return make_attempt(start, token, number, holder, lease_seconds)


def heartbeat(store: Store, attempt: Attempt) -> None:
    """Lengthen the lease of an attempt that may still publish."""
    lease = _check_current(store, attempt)
    store.put_lease(lengthen_lease(lease, store.now_millis(), attempt.lease_seconds))


def finish(
    store: Store, attempt: Attempt, slices: Sequence[SliceWrite], report: Mapping[str, Any]
) -> tuple[Registration, ...]:
    """Publish: register every slice and give the lease back, or find that this was done already."""
    run = store.find_run(attempt.snapshot_sha256)
    if run is not None and run.status == "succeeded" and run.token == attempt.token:
        known = store.list_registrations(attempt.snapshot_sha256, attempt.token)
        return tuple(replace(item, created=False) for item in known)
    found = [store.find_registration(attempt.snapshot_sha256, item.output_seq, item.uri) for item in slices]
    if slices and all(found):
        return tuple(replace(item, created=False) for item in found if item is not None)
    lease = _check_current(store, attempt)
    if run is None:
        raise LeaseError(describe_replaced(attempt.project_name, attempt.period, lease, attempt.token))
    now = store.now_millis()
    registrations = tuple(register_slice(store, run, item, now) for item in slices)
    moment, sources, report = to_datetime(now), list_sources(report), add_versions(report, registrations)
    published = replace(run, status="succeeded", published_at=moment, sources=sources, staged_until=None)
    store.put_run(_conclude(published, now, report))
    add_publication(store, run, now, report)
    store.put_lease(replace(lease, state="free"))
    return registrations


def fail(store: Store, attempt: Attempt, error: Mapping[str, Any], report: Mapping[str, Any] | None) -> bool:
    """Record a failure and give the lease back, unless the attempt is no longer the current one."""
    lease = store.find_lease(attempt.project_id, attempt.period)
    run = store.find_run(attempt.snapshot_sha256)
    if lease is None or run is None or not _holds(lease, attempt.snapshot_sha256, attempt.token):
        return False
    moment = to_datetime(store.now_millis())
    if run.staged_until is not None:
        # What was staged is still there, and so is its report: the publication can be tried again.
        reported = {**error, "cut_short": _may_be_half_done(report)}
        store.put_run(replace(run, status="staged", finished_at=moment, error=reported))
    else:
        known = dict(report) if report else None
        counts = count_checks(report or {})
        failed = replace(run, status="failed", finished_at=moment, error=dict(error), report=known, check_counts=counts)
        store.put_run(failed)
    store.put_lease(replace(lease, state="free"))
    return True


def _may_be_half_done(report: Mapping[str, Any] | None) -> bool:
    """Return whether some outputs of a publication that failed may be published; without a report it is unknown."""
    return report is None or bool(report.get("cut_short")) or report.get("status") == "succeeded"


def stage(store: Store, attempt: Attempt, report: Mapping[str, Any], keep_seconds: float) -> RunRecord:
    """Record that everything is staged, or find that this was done already."""
    run = store.find_run(attempt.snapshot_sha256)
    if run is not None and (run.status, run.token) == ("staged", attempt.token):
        return run
    lease = _check_current(store, attempt)
    if run is None:
        raise LeaseError(describe_replaced(attempt.project_name, attempt.period, lease, attempt.token))
    now = store.now_millis()
    staged = replace(
        run,
        status="staged",
        staged_until=to_datetime(now + int(keep_seconds * 1000)),
        base_publication=get_last_number(store, run.project_id, run.period),
    )
    store.put_run(_conclude(staged, now, report))
    store.put_lease(replace(lease, state="free"))
    return _conclude(staged, now, report)


def check_period(store: Store, run: RunStart | Attempt) -> None:
    """Raise PERIOD_002 when nothing may be published for the run's period, or for one that it is part of."""
    _check_status(run, run.period, run.file_status, FROM_FILE)
    for period in (run.period, *run.enclosing_periods):
        record = store.find_period(run.calendar, period)
        if record is not None:
            _check_status(run, period, record.status, f"by {record.who}: {record.reason}")


def _check_run_id(store: Store, start: RunStart) -> None:
    """Raise SNAPSHOT_001 when a run id means another snapshot: who approves a run by its id has looked at that one."""
    other = store.find_run(start.run_id)
    if other is not None and other.snapshot_sha256 != start.snapshot_sha256:
        message = f"the run id {start.run_id} belongs to the snapshot {other.snapshot_sha256[:12]} already"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "resolve again: every snapshot needs a new run id"))


def check_overrides(store: Store, run: RunStart, checks: Collection[str] | None = None) -> None:
    """Raise PLAN_001 when an override that the run needs was withdrawn, or never given: of these checks, or of all.

    One that was given since then holds for runs that are resolved from then on, and not for this one.
    """
    pinned = {(name, number) for name, number in run.overrides if checks is None or name in checks}
    known = {(item.check, item.number): item for item in store.list_overrides(run.project_id, run.period)}
    problems = [
        Problem(
            "PLAN_001",
            f"the override of check '{name}' for period {run.period} is not known to this registry",
            "the snapshot was resolved with another registry: resolve and run again with this one",
        )
        for name, number in sorted(pinned - known.keys())
    ]
    problems += [
        Problem(
            "PLAN_001",
            f"the override of check '{item.check}' for period {run.period} was withdrawn by {item.withdrawn_by}"
            f" at {item.withdrawn_at:%Y-%m-%d %H:%M} UTC",
            "resolve and run again: what holds then counts",
        )
        for key, item in known.items()
        if key in pinned and item.withdrawn_at is not None
    ]
    if problems:
        raise PlanError(problems)


def _check_status(run: RunStart | Attempt, period: str, status: PeriodStatus, by: str) -> None:
    if status == "open" or (status == "closed" and run.allow_closed):
        return
    opened = (
        "open it in the calendar's file and resolve again"
        if by == FROM_FILE
        else f"reopen {period} (`airflow-runtime periods --reopen`, or Airflow's page Periods)"
    )
    locked = "a locked period never changes again"
    hint = locked if status == "locked" else f"{opened}, or allow closed periods for this run"
    inside = "" if period == run.period else f" is part of {period}, which"
    message = f"period {run.period} of calendar '{run.calendar}'{inside} was {status} {by}"
    raise PeriodError(Problem("PERIOD_002", message, hint))


def _conclude(run: RunRecord, now: int, report: Mapping[str, Any]) -> RunRecord:
    rows_in = report.get("rows_in")
    counted = rows_in if isinstance(rows_in, int) else None
    counts, moment = count_checks(report), to_datetime(now)
    return replace(run, finished_at=moment, rows_in=counted, report=dict(report), check_counts=counts, error=None)


def _check_current(store: Store, attempt: Attempt) -> LeaseRow:
    lease = store.find_lease(attempt.project_id, attempt.period)
    # First the period: whoever was revoked by a lock shall read of the lock.
    check_period(store, attempt)
    if lease is None or not _holds(lease, attempt.snapshot_sha256, attempt.token):
        raise LeaseError(describe_replaced(attempt.project_name, attempt.period, lease, attempt.token))
    return lease


def _holds(lease: LeaseRow, snapshot_sha256: str, token: int) -> bool:
    # An expired lease that nobody took still counts: its token is the highest there is.
    return lease.state == "held" and lease.token == token and lease.snapshot_sha256 == snapshot_sha256


def _can_resume(lease: LeaseRow, run: RunRecord, snapshot_sha256: str, token: int) -> bool:
    # A try that lost sight of its job has given the lease back, while the job may go on: it is the newest one still.
    was_given_back = lease.state == "free" and (run.status, run.token) == ("failed", token)
    return _holds(replace(lease, state="held") if was_given_back else lease, snapshot_sha256, token)


def _may_begin_anew(store: Store, start: RunStart, run: RunRecord) -> bool:
    """Return whether nobody but this invocation has begun the run since, and no other run has published."""
    if start.invocation is None or run.invocation != start.invocation:
        return False
    others = store.list_runs(start.project_id, start.period, None)
    return not any(
        other.published_at is not None and other.published_at >= run.started_at
        for other in others
        if other.snapshot_sha256 != run.snapshot_sha256
    )


def _is_answered(run: RunRecord, start: RunStart, resume_token: int | None) -> bool:
    if run.status not in {"succeeded", "staged"}:
        return False
    return run.token == resume_token or (start.invocation is not None and run.invocation == start.invocation)


def refuse_held_lease(store: Store, start: RunStart, lease: LeaseRow, now: int, lease_seconds: float) -> LeaseError:
    """Return RUN_001: another run is at work."""
    # When the clock was moved back, an end far ahead would shut others out for as long as it was moved.
    latest = now + int(lease_seconds * 1000)
    if lease.expires_millis > latest:
        store.put_lease(replace(lease, expires_millis=latest))
    other = store.find_run(lease.snapshot_sha256)
    name = other.run_id if other else lease.snapshot_sha256[:12]
    seconds = max(0, min(lease.expires_millis, latest) - now) // 1000
    return LeaseError(
        Problem(
            "RUN_001",
            f"project '{start.project_name}' is being run for period {start.period} by run {name}",
            f"wait for it to end; its lease expires {seconds} s after its last sign of life",
        )
    )


def _record_abandoned(store: Store, lease: LeaseRow, now: int) -> None:
    run = store.find_run(lease.snapshot_sha256)
    if run is not None and run.status == "running" and run.token == lease.token:
        error = {"code": "RUN_002", "message": "its process ended without a report; another run took its place"}
        ended = replace(run, status="failed", finished_at=to_datetime(now), staged_until=None, error=error)
        store.put_run(ended)


def lengthen_lease(lease: LeaseRow, now: int, lease_seconds: float) -> LeaseRow:
    """Return the lease with its end moved on."""
    return replace(lease, heartbeat_millis=now, expires_millis=now + int(lease_seconds * 1000))


def describe_replaced(project_name: str, period: str, lease: LeaseRow | None, token: int) -> Problem:
    """Return RUN_002: a newer attempt is at work, or the attempt is over."""
    newest = f"; the newest has token {lease.token}" if lease and lease.token != token else ""
    return Problem(
        "RUN_002",
        f"attempt {token} of project '{project_name}' for period {period} was replaced by a newer one"
        f" or is over{newest}",
        "look at `airflow-runtime runs` for the attempt that counts",
    )


def _make_run(start: RunStart, run: RunRecord | None, token: int, number: int, now: int) -> RunRecord:
    return RunRecord(
        snapshot_sha256=start.snapshot_sha256,
        run_id=start.run_id,
        project_id=start.project_id,
        project_name=start.project_name,
        project_version=start.project_version,
        calendar=start.calendar,
        period=start.period,
        level=start.level,
        status="running",
        attempt=number,
        token=token,
        started_at=to_datetime(now),
        published_at=run.published_at if run else None,
        snapshot_uri=start.snapshot_uri or (run.snapshot_uri if run else None),
        invocation=start.invocation,
        who=start.who,
        basis=start.basis,
        sources=run.sources if run else (),
    )


def make_attempt(
    start: RunStart,
    token: int,
    number: int,
    holder: str,
    lease_seconds: float,
    *,
    published: RunRecord | None = None,
    staged: RunRecord | None = None,
) -> Attempt:
    """Return the attempt of a run that begins."""
    return Attempt(
        snapshot_sha256=start.snapshot_sha256,
        run_id=start.run_id,
        project_id=start.project_id,
        project_name=start.project_name,
        calendar=start.calendar,
        period=start.period,
        token=token,
        number=number,
        holder=holder,
        lease_seconds=lease_seconds,
        allow_closed=start.allow_closed,
        file_status=start.file_status,
        enclosing_periods=start.enclosing_periods,
        published=published,
        staged=staged,
    )

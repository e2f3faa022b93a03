"""Begin: take the lease of a snapshot's project and period."""

from __future__ import annotations

from airflow_provider_runtime.core.planning.stale.basis import describe_basis
from airflow_provider_runtime.core.registry.leases import describe_holder
from airflow_provider_runtime.core.registry.ports import LEASE_SECONDS, Attempt, Registry, RunStart
from spark_jobs.contract.snapshot import Snapshot


def begin_attempt(
    registry: Registry,
    snapshot: Snapshot,
    *,
    snapshot_uri: str | None = None,
    allow_closed: bool = False,
    invocation: str | None = None,
    who: str = "",
    durable: bool = False,
    resume_token: int | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> Attempt:
    """Take the lease of the snapshot's project and period; the attempt's token fences every older one."""
    start = make_start(snapshot, snapshot_uri, allow_closed=allow_closed, invocation=invocation, who=who)
    holder = describe_holder(durable=durable)
    return registry.begin_attempt(start, holder=holder, lease_seconds=lease_seconds, resume_token=resume_token)


def make_start(
    snapshot: Snapshot,
    snapshot_uri: str | None = None,
    *,
    allow_closed: bool = False,
    invocation: str | None = None,
    who: str = "",
) -> RunStart:
    """Return what the registry records of a run."""
    project, settings = snapshot.project, snapshot.plan.settings
    return RunStart(
        snapshot_sha256=snapshot.sha256,
        run_id=snapshot.run_id,
        project_id=project.id,
        project_name=project.name,
        project_version=project.version,
        calendar=settings.calendar,
        period=snapshot.period.identifier,
        level=snapshot.period.level,
        snapshot_uri=snapshot_uri,
        definitions=settings.definitions,
        invocation=invocation,
        allow_closed=allow_closed or settings.allow_closed,
        file_status=settings.file_status,
        enclosing_periods=settings.enclosing_periods,
        who=who,
        overrides=tuple((override.check, override.number) for override in snapshot.overrides),
        basis=describe_basis(snapshot).to_document(),
        needs_approval=settings.publication.needs_approval,
    )

"""The registry's rules over any store: each public method is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from airflow_provider_runtime.core.errors import PeriodError, Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.registry import attempts, decisions, slices
from airflow_provider_runtime.core.registry.leases import is_alive
from airflow_provider_runtime.core.registry.ports import (
    KEEP_SECONDS,
    LEASE_SECONDS,
    Approval,
    Attempt,
    DatasetSummary,
    DatasetVersion,
    Override,
    PeriodChange,
    PeriodRecord,
    PeriodUpdate,
    Publication,
    Registration,
    Registry,
    Release,
    RunRecord,
    RunStart,
    SliceWrite,
)
from airflow_provider_runtime.core.registry.store import Store, to_datetime
from spark_jobs.contract.plan import UsedDefinition

T = TypeVar("T")


class TransactionalRegistry:
    """A registry for which a subclass runs transactions. Write transactions run one after the other."""

    def _read(self, work: Callable[[Store], T]) -> T:
        raise NotImplementedError

    def _write(self, work: Callable[[Store], T]) -> T:
        raise NotImplementedError

    def close(self) -> None:
        """Close nothing: a registry with connections closes them."""

    def read_together(self, work: Callable[[Registry], T]) -> T:
        return self._read(lambda store: work(_Reading(store)))

    def check_definitions(self, definitions: Sequence[UsedDefinition]) -> list[Problem]:
        return self._read(lambda store: attempts.check_definitions(store, definitions))

    def find_changed(self, definitions: Sequence[UsedDefinition]) -> list[UsedDefinition]:
        return self._read(lambda store: attempts.find_changed(store, definitions))

    def begin_attempt(
        self, start: RunStart, *, holder: str, lease_seconds: float = LEASE_SECONDS, resume_token: int | None = None
    ) -> Attempt:
        outcome = self._write(lambda store: attempts.begin(store, start, holder, lease_seconds, resume_token))
        if isinstance(outcome, RuntimeProviderError):
            raise outcome
        return outcome

    def heartbeat(self, attempt: Attempt) -> None:
        self._write(lambda store: attempts.heartbeat(store, attempt))

    def finish_attempt(
        self, attempt: Attempt, slices: Sequence[SliceWrite], report: Mapping[str, Any]
    ) -> tuple[Registration, ...]:
        return self._write(lambda store: attempts.finish(store, attempt, slices, report))

    def fail_attempt(self, attempt: Attempt, error: Mapping[str, Any], report: Mapping[str, Any] | None = None) -> bool:
        return self._write(lambda store: attempts.fail(store, attempt, error, report))

    def stage_attempt(
        self, attempt: Attempt, report: Mapping[str, Any], *, keep_seconds: float = KEEP_SECONDS
    ) -> RunRecord:
        return self._write(lambda store: attempts.stage(store, attempt, report, keep_seconds))

    def begin_publication(self, start: RunStart, *, holder: str, lease_seconds: float = LEASE_SECONDS) -> Attempt:
        outcome = self._write(lambda store: decisions.begin_publication(store, start, holder, lease_seconds))
        if isinstance(outcome, RuntimeProviderError):
            raise outcome
        return outcome

    def discard_staged(self, key: str, *, who: str, reason: str) -> RunRecord:
        return self._write(lambda store: decisions.discard_staged(store, key, who, reason))

    def release(self, project: str, period: str, *, who: str, reason: str) -> Release:
        return self._write(lambda store: decisions.release(store, project, period, who, reason))

    def list_publications(
        self, project: str, period: str | None = None, *, limit: int | None = None
    ) -> list[Publication]:
        return self._read(lambda store: store.list_publications(project, period, limit))

    def add_override(self, project_id: str, period: str, check: str, *, who: str, reason: str) -> Override:
        return self._write(lambda store: decisions.add_override(store, project_id, period, check, who, reason))

    def withdraw_override(
        self, project_id: str, period: str, check: str, *, who: str, reason: str = ""
    ) -> Override | None:
        return self._write(lambda store: decisions.withdraw_override(store, project_id, period, check, who, reason))

    def list_overrides(self, project_id: str, period: str | None = None) -> list[Override]:
        return self._read(lambda store: store.list_overrides(project_id, period))

    def add_approval(self, approval: Approval) -> Approval:
        return self._write(lambda store: decisions.add_approval(store, approval))

    def list_approvals(self, run_id: str) -> list[Approval]:
        return self._read(lambda store: store.list_approvals(run_id))

    def find_run(self, key: str) -> RunRecord | None:
        return self._read(lambda store: store.find_run(key))

    def list_runs(
        self, *, project: str | None = None, period: str | None = None, limit: int | None = None
    ) -> list[RunRecord]:
        return self._read(lambda store: store.list_runs(project, period, limit))

    def list_last_runs(self, known: Iterable[RunRecord] = (), *, reports: bool = True) -> list[RunRecord]:
        found = {run.snapshot_sha256: run for run in known}
        return self._read(lambda store: store.list_last_runs(found, reports))

    def is_published(self, project_id: str, period: str) -> bool:
        return self._read(lambda store: store.is_published(project_id, period))

    def is_at_work(self, run: RunRecord) -> bool:
        def look(store: Store) -> bool:
            lease = store.find_lease(run.project_id, run.period)
            return lease is not None and lease.token == run.token and is_alive(lease, store.now_millis())

        return run.status == "running" and self._read(look)

    def get_period(self, calendar: str, period: str) -> PeriodRecord:
        return self._read(lambda store: store.find_period(calendar, period)) or PeriodRecord(calendar, period, "open")

    def list_periods(self, calendar: str | None = None) -> list[PeriodRecord]:
        return self._read(lambda store: store.list_periods(calendar))

    def set_period_status(
        self, calendar: str, period: str, status: PeriodStatus, *, who: str, reason: str
    ) -> PeriodUpdate:
        return self._write(lambda store: _set_period_status(store, calendar, period, status, who, reason))

    def list_datasets(self) -> list[DatasetSummary]:
        return self._read(slices.list_datasets)

    def list_versions(self, reference: str) -> list[DatasetVersion]:
        return self._read(lambda store: slices.list_versions(store, reference))

    def find_version(self, reference: str, version: int | None = None) -> DatasetVersion | None:
        return self._read(lambda store: slices.find_version(store, reference, version))


class _Reading(TransactionalRegistry):
    """A registry within a transaction that reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _read(self, work: Callable[[Store], T]) -> T:
        return work(self._store)

    def _write(self, work: Callable[[Store], T]) -> T:
        del work
        raise TypeError("nothing is written while a registry is read")


def _set_period_status(
    store: Store, calendar: str, period: str, status: PeriodStatus, who: str, reason: str
) -> PeriodUpdate:
    record = store.find_period(calendar, period) or PeriodRecord(calendar, period, "open")
    if record.status == "locked" and status != "locked":
        message = f"period {period} of calendar '{calendar}' was locked by {record.who}: {record.reason}"
        raise PeriodError(Problem("PERIOD_002", message, "a locked period never changes again"))
    if record.status == status:
        return PeriodUpdate(record)
    moment = to_datetime(store.now_millis())
    change = PeriodChange(status, record.status, who, reason, moment)
    changed = PeriodRecord(calendar, period, status, who, reason, moment, (*record.history, change))
    store.put_period(changed, change)
    return PeriodUpdate(changed, _revoke(store, calendar, period, status, reason))


def _revoke(store: Store, calendar: str, period: str, status: PeriodStatus, reason: str) -> tuple[RunRecord, ...]:
    revoked = []
    for lease in store.list_held_leases(calendar, period) if status == "locked" else []:
        store.put_lease(replace(lease, state="revoked"))
        run = store.find_run(lease.snapshot_sha256)
        if run is not None and run.token == lease.token:
            error = {"code": "PERIOD_002", "message": f"period {period} was locked while it ran: {reason}"}
            run = replace(run, status="revoked", finished_at=to_datetime(store.now_millis()), error=error)
            store.put_run(run)
            revoked.append(run)
    return tuple(revoked)

"""A registry without a database, for commands that find none and for tests: the same rules over dictionaries."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from airflow_provider_runtime.core.registry.ports import (
    Approval,
    Override,
    PeriodChange,
    PeriodRecord,
    Publication,
    Registration,
    Release,
    RunRecord,
)
from airflow_provider_runtime.core.registry.store import DatasetRow, LeaseRow, SliceRow, Store, VersionRow
from airflow_provider_runtime.core.registry.transactional import TransactionalRegistry

T = TypeVar("T")


@dataclass
class MemoryStore:
    """Rows in dictionaries."""

    clock: Callable[[], int]
    digests: dict[tuple[str, str, int], str] = field(default_factory=dict)
    runs: dict[str, RunRecord] = field(default_factory=dict)
    leases: dict[tuple[str, str], LeaseRow] = field(default_factory=dict)
    periods: dict[tuple[str, str], PeriodRecord] = field(default_factory=dict)
    datasets: dict[str, DatasetRow] = field(default_factory=dict)
    slices: tuple[SliceRow, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    registrations: tuple[tuple[str, int, Registration], ...] = ()
    publications: tuple[Publication, ...] = ()
    overrides: Mapping[tuple[str, str, str, int], Override] = field(default_factory=dict)
    approvals: tuple[Approval, ...] = ()
    releases: tuple[Release, ...] = ()

    def copy(self) -> MemoryStore:
        """Return a store that can change without this one changing; the rows themselves never do."""
        return replace(
            self,
            digests=dict(self.digests),
            runs=dict(self.runs),
            leases=dict(self.leases),
            periods=dict(self.periods),
            datasets=dict(self.datasets),
        )

    def now_millis(self) -> int:
        return self.clock()

    def find_digests(self, keys: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], str]:
        return {key: self.digests[key] for key in keys if key in self.digests}

    def add_digest(self, kind: str, id: str, version: int, digest: str, run_id: str) -> None:  # noqa: ARG002
        self.digests[kind, id, version] = digest

    def find_run(self, key: str) -> RunRecord | None:
        return self.runs.get(key) or next((run for run in self.runs.values() if run.run_id == key), None)

    def put_run(self, run: RunRecord) -> None:
        self.runs[run.snapshot_sha256] = run

    def list_runs(self, project: str | None, period: str | None, limit: int | None) -> list[RunRecord]:
        found = [
            run
            for run in self.runs.values()
            if (project is None or project in {run.project_id, run.project_name})
            and (period is None or period == run.period)
        ]
        return sorted(found, key=lambda run: (run.started_at, run.token), reverse=True)[:limit]

    def list_last_runs(self, known: Mapping[str, RunRecord], reports: bool) -> list[RunRecord]:
        del known
        runs = self.list_runs(None, None, None)
        published = sorted(
            (run for run in runs if run.published_at is not None),
            key=lambda run: run.published_at or run.started_at,
            reverse=True,
        )
        kept: set[str] = set()
        for ordered in (runs, published):
            first: dict[tuple[str, str], str] = {}
            for run in ordered:
                first.setdefault((run.project_id, run.period), run.snapshot_sha256)
            kept |= set(first.values())
        last = [run for run in runs if run.snapshot_sha256 in kept]
        return last if reports else [replace(run, report=None, error=None) for run in last]

    def is_published(self, project_id: str, period: str) -> bool:
        return any(
            run.published_at is not None and (run.project_id, run.period) == (project_id, period)
            for run in self.runs.values()
        )

    def find_lease(self, project_id: str, period: str) -> LeaseRow | None:
        return self.leases.get((project_id, period))

    def list_held_leases(self, calendar: str, period: str) -> list[LeaseRow]:
        return [
            row for row in self.leases.values() if (row.calendar, row.period, row.state) == (calendar, period, "held")
        ]

    def put_lease(self, lease: LeaseRow) -> None:
        self.leases[lease.project_id, lease.period] = lease

    def find_period(self, calendar: str, period: str) -> PeriodRecord | None:
        return self.periods.get((calendar, period))

    def list_periods(self, calendar: str | None) -> list[PeriodRecord]:
        found = (row for row in self.periods.values() if calendar in {None, row.calendar})
        return sorted(found, key=lambda row: (row.calendar, row.period))

    def put_period(self, record: PeriodRecord, change: PeriodChange) -> None:  # noqa: ARG002
        self.periods[record.calendar, record.period] = record

    def list_publications(self, project: str, period: str | None, limit: int | None) -> list[Publication]:
        found = (row for row in self.publications if project in {row.project_id, row.project_name})
        return [row for row in reversed(list(found)) if period in {None, row.period}][:limit]

    def add_publication(self, publication: Publication) -> None:
        self.publications = (*self.publications, publication)

    def list_overrides(self, project_id: str, period: str | None) -> list[Override]:
        found = (row for row in self.overrides.values() if row.project_id == project_id)
        return sorted((row for row in found if period in {None, row.period}), key=lambda row: (row.at, row.number))

    def put_override(self, override: Override) -> None:
        key = (override.project_id, override.period, override.check, override.number)
        self.overrides = {**self.overrides, key: override}

    def list_approvals(self, run_id: str) -> list[Approval]:
        return [row for row in self.approvals if row.run_id == run_id]

    def add_approval(self, approval: Approval) -> None:
        self.approvals = (*self.approvals, approval)

    def list_releases(self, project_id: str, period: str) -> list[Release]:
        return [row for row in self.releases if (row.project_id, row.period) == (project_id, period)]

    def add_release(self, release: Release) -> None:
        self.releases = (*self.releases, release)

    def find_dataset(self, reference: str) -> DatasetRow | None:
        by_name = (row for row in self.datasets.values() if row.name == reference)
        return self.datasets.get(reference) or next(by_name, None)

    def list_datasets(self) -> list[DatasetRow]:
        return sorted(self.datasets.values(), key=lambda row: row.name)

    def put_dataset(self, row: DatasetRow) -> None:
        self.datasets[row.dataset_id] = row

    def find_current_slice(self, dataset_id: str, period: str) -> SliceRow | None:
        key = (dataset_id, period, None)
        return next((row for row in self.slices if (row.dataset_id, row.period, row.replaced_in) == key), None)

    def list_slices(self, dataset_id: str, version: int) -> list[SliceRow]:
        found = (
            row
            for row in self.slices
            if row.dataset_id == dataset_id
            and row.first_version <= version
            and (row.replaced_in is None or row.replaced_in > version)
        )
        return sorted(found, key=lambda row: row.period)

    def add_slice(self, row: SliceRow) -> None:
        self.slices = (*self.slices, row)

    def end_slice(self, dataset_id: str, period: str, replaced_in: int) -> None:
        key = (dataset_id, period, None)
        self.slices = tuple(
            replace(row, replaced_in=replaced_in) if (row.dataset_id, row.period, row.replaced_in) == key else row
            for row in self.slices
        )

    def find_version(self, dataset_id: str, version: int) -> VersionRow | None:
        return next((row for row in self.versions if (row.dataset_id, row.version) == (dataset_id, version)), None)

    def list_versions(self, dataset_id: str) -> list[VersionRow]:
        return [row for row in self.versions if row.dataset_id == dataset_id]

    def find_newer_definition(self, dataset_id: str, project_id: str, project_version: int) -> Mapping[str, Any] | None:
        found = [
            (run.project_version, row.version, row.definition)
            for row in self.versions
            if row.dataset_id == dataset_id
            and (run := self.runs[row.snapshot_sha256]).project_id == project_id
            and run.project_version > project_version
        ]
        return max(found, key=lambda item: item[:2])[2] if found else None

    def add_version(self, row: VersionRow) -> None:
        if self.find_version(row.dataset_id, row.version) is not None:
            raise AssertionError(f"version {row.version} is there already")
        self.versions = (*self.versions, row)

    def find_registration(self, snapshot_sha256: str, output_seq: int, uri: str) -> Registration | None:
        key = (snapshot_sha256, output_seq, uri)
        return next(
            (item for digest, _, item in self.registrations if (digest, item.output_seq, item.uri) == key), None
        )

    def list_registrations(self, snapshot_sha256: str, token: int) -> list[Registration]:
        return [item for digest, number, item in self.registrations if (digest, number) == (snapshot_sha256, token)]

    def add_registration(self, snapshot_sha256: str, token: int, registration: Registration) -> None:
        self.registrations = (*self.registrations, (snapshot_sha256, token, registration))


class MemoryRegistry(TransactionalRegistry):
    """A registry that forgets everything with its process."""

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self._store = MemoryStore(clock or (lambda: time.time_ns() // 1_000_000))
        self._lock = threading.Lock()

    def copy(self) -> MemoryRegistry:
        """Return a registry with the same content that goes its own way, for tests that try every order of steps."""
        twin = copy.copy(self)
        twin._store = self._store.copy()
        twin._lock = threading.Lock()
        return twin

    def _read(self, work: Callable[[Store], T]) -> T:
        with self._lock:
            return work(self._store)

    def _write(self, work: Callable[[Store], T]) -> T:
        with self._lock:
            changed = self._store.copy()
            outcome = work(changed)
            self._store = changed
            return outcome

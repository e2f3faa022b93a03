"""What the rules of the registry ask of a database, inside one transaction that nothing else runs beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

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

LeaseState = Literal["held", "free", "revoked"]


def to_datetime(millis: int) -> datetime:
    """Return the timestamp of a number of milliseconds since 1970."""
    return datetime.fromtimestamp(millis / 1000, tz=UTC)


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """The lease of a project and a period; the row stays when it is free, so that tokens only grow."""

    project_id: str
    period: str
    calendar: str
    snapshot_sha256: str
    holder: str
    token: int
    heartbeat_millis: int
    expires_millis: int
    state: LeaseState


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A registered dataset."""

    dataset_id: str
    name: str
    latest_version: int


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice; versions from `first_version` up to, not including, `replaced_in` read it."""

    dataset_id: str
    period: str
    uri: str
    rows: int
    definition: Mapping[str, Any]
    output_seq: int
    snapshot_sha256: str
    content: str | None
    token: int
    first_version: int
    replaced_in: int | None = None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a registered dataset."""

    dataset_id: str
    version: int
    definition: Mapping[str, Any]
    period: str
    created_millis: int
    run_id: str
    snapshot_sha256: str


class Store(Protocol):
    """Rows of the registry within a transaction."""

    def now_millis(self) -> int:
        """Return the time that all processes share."""

    def find_digests(self, keys: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], str]:
        """Find the digests that definitions were used with, by kind, id and version."""

    def add_digest(self, kind: str, id: str, version: int, digest: str, run_id: str) -> None:
        """Keep the digest of a definition."""

    def find_run(self, key: str) -> RunRecord | None:
        """Find a run by digest or run id."""

    def put_run(self, run: RunRecord) -> None:
        """Keep a run."""

    def list_runs(self, project: str | None, period: str | None, limit: int | None) -> list[RunRecord]:
        """List runs, the latest first."""

    def list_last_runs(self, known: Mapping[str, RunRecord], reports: bool) -> list[RunRecord]:
        """List the latest and the last published run of each project and period, the latest first."""

    def is_published(self, project_id: str, period: str) -> bool:
        """Return whether any run has succeeded."""

    def find_lease(self, project_id: str, period: str) -> LeaseRow | None:
        """Find a lease, held or not."""

    def list_held_leases(self, calendar: str, period: str) -> list[LeaseRow]:
        """List the leases of a period that are held."""

    def put_lease(self, lease: LeaseRow) -> None:
        """Keep a lease."""

    def find_period(self, calendar: str, period: str) -> PeriodRecord | None:
        """Find a period's status with its history."""

    def list_periods(self, calendar: str | None) -> list[PeriodRecord]:
        """List statuses."""

    def put_period(self, record: PeriodRecord, change: PeriodChange) -> None:
        """Keep a status, and the change that led to it."""

    def list_publications(self, project: str, period: str | None, limit: int | None) -> list[Publication]:
        """List publications, the latest first."""

    def add_publication(self, publication: Publication) -> None:
        """Add a publication."""

    def list_overrides(self, project_id: str, period: str | None) -> list[Override]:
        """List overrides in their order."""

    def put_override(self, override: Override) -> None:
        """Keep an override."""

    def list_approvals(self, run_id: str) -> list[Approval]:
        """List the decisions on a run."""

    def add_approval(self, approval: Approval) -> None:
        """Add a decision."""

    def list_releases(self, project_id: str, period: str) -> list[Release]:
        """List the releases of a project and period."""

    def add_release(self, release: Release) -> None:
        """Add a release."""

    def find_dataset(self, reference: str) -> DatasetRow | None:
        """Find a dataset by id or name."""

    def list_datasets(self) -> list[DatasetRow]:
        """List datasets by name."""

    def put_dataset(self, row: DatasetRow) -> None:
        """Keep a dataset."""

    def find_current_slice(self, dataset_id: str, period: str) -> SliceRow | None:
        """Find the slice of a period that the latest version reads."""

    def list_slices(self, dataset_id: str, version: int) -> list[SliceRow]:
        """List the slices of a version."""

    def add_slice(self, row: SliceRow) -> None:
        """Add a slice."""

    def end_slice(self, dataset_id: str, period: str, replaced_in: int) -> None:
        """Let later versions no longer read the current slice."""

    def find_version(self, dataset_id: str, version: int) -> VersionRow | None:
        """Find a version."""

    def list_versions(self, dataset_id: str) -> list[VersionRow]:
        """List versions, ascending."""

    def find_newer_definition(self, dataset_id: str, project_id: str, project_version: int) -> Mapping[str, Any] | None:
        """Find the definition that the highest version of a project has registered, if it is above a version."""

    def add_version(self, row: VersionRow) -> None:
        """Add a version."""

    def find_registration(self, snapshot_sha256: str, output_seq: int, uri: str) -> Registration | None:
        """Find the registration of a slice."""

    def list_registrations(self, snapshot_sha256: str, token: int) -> list[Registration]:
        """List what an attempt registered."""

    def add_registration(self, snapshot_sha256: str, token: int, registration: Registration) -> None:
        """Remember an answer."""

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

    def now_millis(self) -> int: ...  # noqa: D102

    def find_digests(self, keys: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], str]: ...  # noqa: D102
    def add_digest(self, kind: str, id: str, version: int, digest: str, run_id: str) -> None: ...  # noqa: D102

    def find_run(self, key: str) -> RunRecord | None: ...  # noqa: D102
    def put_run(self, run: RunRecord) -> None: ...  # noqa: D102
    def list_runs(self, project: str | None, period: str | None, limit: int | None) -> list[RunRecord]: ...  # noqa: D102
    def list_last_runs(self, known: Mapping[str, RunRecord], reports: bool) -> list[RunRecord]: ...  # noqa: D102
    def is_published(self, project_id: str, period: str) -> bool: ...  # noqa: D102

    def find_lease(self, project_id: str, period: str) -> LeaseRow | None: ...  # noqa: D102
    def list_held_leases(self, calendar: str, period: str) -> list[LeaseRow]: ...  # noqa: D102
    def put_lease(self, lease: LeaseRow) -> None: ...  # noqa: D102

    def find_period(self, calendar: str, period: str) -> PeriodRecord | None: ...  # noqa: D102
    def list_periods(self, calendar: str | None) -> list[PeriodRecord]: ...  # noqa: D102
    def put_period(self, record: PeriodRecord, change: PeriodChange) -> None: ...  # noqa: D102

    def list_publications(self, project: str, period: str | None, limit: int | None) -> list[Publication]: ...  # noqa: D102
    def add_publication(self, publication: Publication) -> None: ...  # noqa: D102
    def list_overrides(self, project_id: str, period: str | None) -> list[Override]: ...  # noqa: D102
    def put_override(self, override: Override) -> None: ...  # noqa: D102
    def list_approvals(self, run_id: str) -> list[Approval]: ...  # noqa: D102
    def add_approval(self, approval: Approval) -> None: ...  # noqa: D102
    def list_releases(self, project_id: str, period: str) -> list[Release]: ...  # noqa: D102
    def add_release(self, release: Release) -> None: ...  # noqa: D102

    def find_dataset(self, reference: str) -> DatasetRow | None: ...  # noqa: D102
    def list_datasets(self) -> list[DatasetRow]: ...  # noqa: D102
    def put_dataset(self, row: DatasetRow) -> None: ...  # noqa: D102
    def find_current_slice(self, dataset_id: str, period: str) -> SliceRow | None: ...  # noqa: D102
    def list_slices(self, dataset_id: str, version: int) -> list[SliceRow]: ...  # noqa: D102
    def add_slice(self, row: SliceRow) -> None: ...  # noqa: D102
    def end_slice(self, dataset_id: str, period: str, replaced_in: int) -> None: ...  # noqa: D102
    def find_version(self, dataset_id: str, version: int) -> VersionRow | None: ...  # noqa: D102
    def list_versions(self, dataset_id: str) -> list[VersionRow]: ...  # noqa: D102
    def find_newer_definition(  # noqa: D102
        self, dataset_id: str, project_id: str, project_version: int
    ) -> Mapping[str, Any] | None: ...
    def add_version(self, row: VersionRow) -> None: ...  # noqa: D102
    def find_registration(self, snapshot_sha256: str, output_seq: int, uri: str) -> Registration | None: ...  # noqa: D102
    def list_registrations(self, snapshot_sha256: str, token: int) -> list[Registration]: ...  # noqa: D102
    def add_registration(self, snapshot_sha256: str, token: int, registration: Registration) -> None: ...  # noqa: D102

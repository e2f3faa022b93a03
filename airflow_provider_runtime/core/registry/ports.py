"""What the rest of the package knows of a registry: its records, and the Protocol that every registry follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.period import PeriodStatus
from spark_jobs.contract.plan import UsedDefinition

T = TypeVar("T")
RunStatus = Literal["running", "staged", "succeeded", "failed", "revoked", "discarded"]
Decision = Literal["approved", "refused"]
KEEP_SECONDS = 7 * 86400.0
"""How long staged rows are kept."""
LEASE_SECONDS = 90.0
"""How long a lease lives after its last heartbeat."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run when it begins."""

    snapshot_sha256: str
    run_id: str
    project_id: str
    project_name: str
    project_version: int
    calendar: str
    period: str
    level: str
    snapshot_uri: str | None = None
    definitions: tuple[UsedDefinition, ...] = ()
    invocation: str | None = None
    """Who asked: the same text again means a retry, another text (or none) means that the run is wanted anew."""
    allow_closed: bool = False
    file_status: PeriodStatus = "open"
    """The period's status in the calendar's file; the stricter of this and the registry's holds."""
    enclosing_periods: tuple[str, ...] = ()
    """The coarser periods that it belongs to: closing or locking one of these closes or locks it too."""
    who: str = ""
    """Who asked for the run: the preparer of what it stages."""
    overrides: tuple[tuple[str, int], ...] = ()
    """The checks that the snapshot lets fail, each with the number of the permission."""
    basis: Mapping[str, Any] | None = None
    """What decides its rows beside definitions and data: the period's days, and where tables were found."""
    needs_approval: bool = False
    """Whether what it stages is published only when somebody has approved it."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as the registry keeps it: one for each snapshot."""

    snapshot_sha256: str
    run_id: str
    project_id: str
    project_name: str
    project_version: int
    calendar: str
    period: str
    level: str
    status: RunStatus
    attempt: int
    token: int
    started_at: datetime
    finished_at: datetime | None = None
    published_at: datetime | None = None
    """When it last succeeded; stays when the run is executed again."""
    snapshot_uri: str | None = None
    invocation: str | None = None
    rows_in: int | None = None
    report: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    who: str = ""
    staged_until: datetime | None = None
    """Set while what the run has staged is kept for a decision, and while that is being published."""
    base_publication: int | None = None
    """Number of the period's last publication when it was staged: 0 for none."""
    basis: Mapping[str, Any] | None = None
    """What decides its rows beside definitions and data; None for a run of an older package."""
    sources: Sequence[Mapping[str, Any]] = ()
    """What its publication has read: each table with dataset, version and fingerprint."""
    check_counts: Mapping[str, int] = field(default_factory=dict)
    """How many checks of its report have which status."""

    def is_waiting(self, now: datetime) -> bool:
        """Return whether what it has staged waits for a decision, and is still kept."""
        return self.status == "staged" and self.staged_until is not None and self.staged_until >= now


@dataclass(frozen=True, slots=True)
class Attempt:
    """The right to publish a run, as long as no newer attempt has begun."""

    snapshot_sha256: str
    run_id: str
    project_id: str
    project_name: str
    calendar: str
    period: str
    token: int
    number: int
    holder: str
    lease_seconds: float = LEASE_SECONDS
    allow_closed: bool = False
    file_status: PeriodStatus = "open"
    enclosing_periods: tuple[str, ...] = ()
    published: RunRecord | None = None
    """Set when an earlier attempt of the same invocation has succeeded: its answer was lost, nothing is left to do."""
    staged: RunRecord | None = None
    """Set when an earlier attempt of the same invocation has staged its rows, and when these are to be published."""


@dataclass(frozen=True, slots=True)
class SliceWrite:
    """A slice that a run has written and wants to be part of a dataset's next version."""

    output_seq: int
    dataset_id: str
    dataset_name: str
    period: str
    uri: str
    rows: int
    definition: Mapping[str, Any]
    """The dataset's definition (without its version) that these rows have."""
    content: str | None = None
    """Digest of the rows, when the job has one."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Which version of a dataset holds a slice; `created` is false when an earlier attempt had registered it."""

    output_seq: int
    dataset_id: str
    dataset_name: str
    version: int
    uri: str
    rows: int
    created: bool


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """An immutable folder of files that holds one period of a dataset."""

    period: str
    uri: str
    rows: int
    definition: Mapping[str, Any]
    """The definition at the time of writing; a newer version may have other columns."""
    output_seq: int
    snapshot_sha256: str
    first_version: int
    content: str | None = None
    """Digest of the rows, when the job had one."""


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """A version of a registered dataset with everything that it reads."""

    dataset_id: str
    name: str
    version: int
    definition: Mapping[str, Any]
    period: str
    created_at: datetime
    run_id: str
    snapshot_sha256: str
    slices: tuple[SliceRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A registered dataset, as lists show it."""

    dataset_id: str
    name: str
    latest_version: int
    periods: int
    rows: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PeriodChange:
    """One change of a period's status."""

    status: PeriodStatus
    previous: PeriodStatus
    who: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PeriodRecord:
    """A period's status with who set it, when and why."""

    calendar: str
    period: str
    status: PeriodStatus
    who: str = ""
    reason: str = ""
    changed_at: datetime | None = None
    history: tuple[PeriodChange, ...] = ()


@dataclass(frozen=True, slots=True)
class PeriodUpdate:
    """The outcome of a change of status: the record, and the attempts that it took the right to publish from."""

    record: PeriodRecord
    revoked: tuple[RunRecord, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication of a period by a project; they are numbered from 1 in their order."""

    project_id: str
    project_name: str
    period: str
    number: int
    run_id: str
    snapshot_sha256: str
    token: int
    published_at: datetime
    report: Mapping[str, Any]
    """The job's report: outputs with rows and totals, results of checks, sources that were read."""

    @property
    def checks(self) -> Sequence[Mapping[str, Any]]:
        """Results of checks."""
        return self.report.get("checks") or ()

    @property
    def sources(self) -> Sequence[Mapping[str, Any]]:
        """What was read, with fingerprints."""
        return self.report.get("sources") or ()

    @property
    def outputs(self) -> Sequence[Mapping[str, Any]]:
        """What was written."""
        return self.report.get("outputs") or ()


@dataclass(frozen=True, slots=True)
class Override:
    """The override of one failing check of a project and period, until it is withdrawn."""

    project_id: str
    period: str
    check: str
    number: int
    who: str
    reason: str
    at: datetime
    withdrawn_by: str | None = None
    withdrawn_at: datetime | None = None
    withdrawn_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's decision on a staged run."""

    run_id: str
    decision: Decision
    preparer: str
    approver: str
    claimed_name: str | None = None
    """The name that was claimed with `--as`."""
    real_user: str = ""
    host: str = ""
    comment: str = ""
    token: int = 0
    """The attempt whose rows were decided on; 0 in what an older package has written."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """The record of a period that was taken from an attempt that blocked it."""

    project_id: str
    period: str
    number: int
    token: int
    who: str
    reason: str
    at: datetime


class Registry(Protocol):
    """State that outlives a run. Every method is one transaction."""

    def check_definitions(self, definitions: Sequence[UsedDefinition]) -> list[Problem]:
        """Return a CATALOG_005 for each definition that was used before with other content."""

    def find_changed(self, definitions: Sequence[UsedDefinition]) -> list[UsedDefinition]:
        """Return the definitions that were used before with other content."""

    def begin_attempt(
        self, start: RunStart, *, holder: str, lease_seconds: float = LEASE_SECONDS, resume_token: int | None = None
    ) -> Attempt:
        """Take the lease of the run's project and period, or raise RUN_001, PERIOD_002 or CATALOG_005.

        With `resume_token` the attempt with that token goes on (its job still runs). When that cannot be, because of a
        newer attempt of the same invocation or of a run that published nothing, a new attempt is taken; when another
        has replaced it, RUN_002.
        """

    def heartbeat(self, attempt: Attempt) -> None:
        """Lengthen the lease; RUN_002 when the attempt was replaced, PERIOD_002 when its period was locked."""

    def finish_attempt(
        self, attempt: Attempt, slices: Sequence[SliceWrite], report: Mapping[str, Any]
    ) -> tuple[Registration, ...]:
        """Register the slices, record success and give the lease back: all or nothing, and once."""

    def fail_attempt(self, attempt: Attempt, error: Mapping[str, Any], report: Mapping[str, Any] | None = None) -> bool:
        """Record the failure and give the lease back; False when the attempt was replaced or over already."""

    def stage_attempt(
        self, attempt: Attempt, report: Mapping[str, Any], *, keep_seconds: float = KEEP_SECONDS
    ) -> RunRecord:
        """Record that everything is staged and give the lease back; runs staged before for the period are discarded."""

    def begin_publication(self, start: RunStart, *, holder: str, lease_seconds: float = LEASE_SECONDS) -> Attempt:
        """Take the lease again for a staged run, with the token that staged it.

        RUN_001 while somebody publishes it, RUN_002 after a newer attempt, PLAN_001 when the period was published
        since, PERIOD_002 when it was closed or locked, APPROVAL_001 when an approval of these rows is needed and is not
        there. `published` is set when it was published already.
        """

    def discard_staged(self, key: str, *, who: str, reason: str) -> RunRecord:
        """Give up what a run has staged; PLAN_001 when nothing is staged, RUN_001 while somebody publishes it."""

    def release(self, project: str, period: str, *, who: str, reason: str) -> Release:
        """Give the next attempt a token larger than all that are known; the lease's holder loses it."""

    def list_publications(
        self, project: str, period: str | None = None, *, limit: int | None = None
    ) -> list[Publication]:
        """List publications of a project (id or name), the latest first."""

    def add_override(self, project_id: str, period: str, check: str, *, who: str, reason: str) -> Override:
        """Let a failing check pass for runs of the period that are resolved from now on."""

    def withdraw_override(
        self, project_id: str, period: str, check: str, *, who: str, reason: str = ""
    ) -> Override | None:
        """End the override of a check; None when there is none."""

    def list_overrides(self, project_id: str, period: str | None = None) -> list[Override]:
        """List overrides in the order in which they were given, withdrawn ones too."""

    def add_approval(self, approval: Approval) -> Approval:
        """Record a decision on a staged run, with the registry's time unless it has one."""

    def list_approvals(self, run_id: str) -> list[Approval]:
        """List the decisions on a run in their order."""

    def find_run(self, key: str) -> RunRecord | None:
        """Find a run by its snapshot's digest or its run id."""

    def list_runs(
        self, *, project: str | None = None, period: str | None = None, limit: int | None = None
    ) -> list[RunRecord]:
        """List runs, the latest first; project is an id or a name."""

    def list_last_runs(self, known: Iterable[RunRecord] = (), *, reports: bool = True) -> list[RunRecord]:
        """List the latest run of each project and period, and the one that published last, the latest first.

        Runs that the caller knows already are not read again unless they have changed. Without `reports`, which are
        most of what is kept of a run, reports and errors are left out.
        """

    def read_together(self, work: Callable[[Registry], T]) -> T:
        """Return what work that only reads finds: all that it reads is of one transaction, and so of one state."""

    def is_published(self, project_id: str, period: str) -> bool:
        """Return whether a run of the project has succeeded for the period."""

    def is_at_work(self, run: RunRecord) -> bool:
        """Return whether the process of a run that began holds its lease: one that was killed does not."""

    def get_period(self, calendar: str, period: str) -> PeriodRecord:
        """Return the status of a period; open when nobody has set it."""

    def list_periods(self, calendar: str | None = None) -> list[PeriodRecord]:
        """List the periods whose status was ever set."""

    def set_period_status(
        self, calendar: str, period: str, status: PeriodStatus, *, who: str, reason: str
    ) -> PeriodUpdate:
        """Change a period's status; PERIOD_002 when it is locked. Locking revokes the attempts that are under way."""

    def list_datasets(self) -> list[DatasetSummary]:
        """List the registered datasets by name."""

    def list_versions(self, reference: str) -> list[DatasetVersion]:
        """List a dataset's versions, without their slices, ascending; empty when it is not known."""

    def find_version(self, reference: str, version: int | None = None) -> DatasetVersion | None:
        """Find a version of a dataset (by name or id; the latest when none is given) with its slices."""

    def close(self) -> None:
        """Close all connections."""

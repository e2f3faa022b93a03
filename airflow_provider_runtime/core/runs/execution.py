"""One execution of a snapshot: an attempt is begun and kept alive, its job runs, and the outcome is registered."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field, replace
from typing import Protocol

from airflow_provider_runtime.core.errors import LeaseError, RuntimeProviderError
from airflow_provider_runtime.core.registry.leases import describe_holder
from airflow_provider_runtime.core.registry.ports import KEEP_SECONDS, Attempt, Registration, Registry
from airflow_provider_runtime.core.runs.begin import begin_attempt, make_start
from airflow_provider_runtime.core.runs.earlier import find_earlier_report, note_differences
from airflow_provider_runtime.core.runs.finish import fail_attempt, finish_attempt, stage_attempt
from airflow_provider_runtime.core.runs.keep_alive import keep_alive
from airflow_provider_runtime.core.runs.report import check_report, make_job_error
from airflow_provider_runtime.core.runs.tables import TableCommits
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import Snapshot

_log = logging.getLogger(__name__)


class Job(Protocol):
    """The Spark job of an execution, in this process or elsewhere."""

    def run(self) -> Report:
        """Run the job to its end and return its report."""

    def stop(self) -> None:
        """Stop the job: its attempt may no longer publish."""


@dataclass
class Execution:
    """What a run does apart from its Spark job, for command line and Airflow alike."""

    registry: Registry
    snapshot: Snapshot
    snapshot_uri: str
    allow_closed: bool = False
    invocation: str | None = None
    who: str = ""
    """Who asked for it."""
    durable: bool = False
    """Whether the job goes on without the process that submitted it."""
    earlier: Report | None = None
    """What an earlier execution of the same snapshot has reported."""
    keep_seconds: float = KEEP_SECONDS
    """How long staged rows are kept."""
    read_properties: PropertyReader | None = None
    """Returns what the credential of a table's catalog or store stands for."""
    report: Report | None = None
    """What the job has reported, of success or failure."""
    lost: RuntimeProviderError | None = None
    """Why the attempt may no longer publish."""
    _attempt: Attempt | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tables: TableCommits | None = None

    @property
    def attempt(self) -> Attempt:
        """The attempt that was begun last."""
        assert self._attempt is not None, "begin comes first"
        return self._attempt

    def begin(self, resume_token: int | None = None) -> Attempt:
        """Take the lease; with the token of an attempt whose job goes on, that attempt is taken up again."""
        self.earlier = find_earlier_report(self.registry, self.snapshot)
        # No heartbeat of the attempt before may come between the new one and its being known here.
        with self._lock:
            self._attempt = begin_attempt(
                self.registry,
                self.snapshot,
                snapshot_uri=self.snapshot_uri,
                allow_closed=self.allow_closed,
                invocation=self.invocation,
                who=self.who,
                durable=self.durable,
                resume_token=resume_token,
            )
        if resume_token is None:
            self._note_bases()
        return self._attempt

    def begin_publication(self) -> Attempt:
        """Take the lease again for what this snapshot's run has staged; the attempt is the one that staged it."""
        start = make_start(self.snapshot, self.snapshot_uri, allow_closed=self.allow_closed)
        holder = describe_holder(durable=self.durable)
        with self._lock:
            self._attempt = self.registry.begin_publication(start, holder=holder)
            return self._attempt

    def heartbeat(self) -> None:
        """Lengthen the lease; raises when the attempt may no longer publish."""
        with self._lock:
            self.registry.heartbeat(self.attempt)

    def check(self) -> None:
        """Raise, and remember, why the attempt may no longer publish; to be asked right before a publish."""
        try:
            self.heartbeat()
        except RuntimeProviderError as error:
            self.lost = error
            raise

    def run(self, job: Job) -> tuple[Registration, ...]:
        """Run the job while the lease is kept alive, and register what it wrote; what stops it is recorded."""
        try:
            with keep_alive(self.heartbeat, lambda error: self._lose(error, job)):
                reported = job.run()
                self.report = note_differences(reported, self.earlier)
            for difference in self.report.differences if self.report is not reported else ():
                _log.warning("not as in the earlier execution of this snapshot: %s", difference)
            if self.lost is None and self.report.failed:
                raise make_job_error(self.report, self.snapshot.project.name)
            if self.lost is not None:
                raise self.lost
            return self.finish(self.report)
        except BaseException as error:
            failure = self.lost or error
            self._record_failure(failure)
            if failure is error:
                raise
            raise failure from None

    def finish(self, report: Report) -> tuple[Registration, ...]:
        """Commit and register what the job has written, or keep what it has staged; what was done is found again."""
        if report.status == "staged":
            self.report = report = self._get_tables().note_in(report)
            stage_attempt(self.registry, self.attempt, report, self.keep_seconds)
            return ()
        if self.attempt.published is None and any(output.table is not None for output in report.outputs):
            check_report(report, self.attempt)
            self.check()
            self.report = report = self._get_tables().commit(report, self.attempt)
        return finish_attempt(self.registry, self.attempt, self.snapshot, report)

    def show_published(self) -> Snapshot:
        """Return the snapshot with what readers see of the tables that it replaces rows of, for a job that compares."""
        return self._get_tables().show_published()

    def _note_bases(self) -> None:
        try:
            self._get_tables().note_bases(self.attempt)
        except RuntimeProviderError as error:
            self._record_failure(error)
            raise

    def _get_tables(self) -> TableCommits:
        self._tables = self._tables or TableCommits(self.snapshot, self.read_properties)
        return self._tables

    def _note_newest(self) -> None:
        """Keep which attempt stands in a table's way, so that a release lets the next one pass."""
        newest = self._get_tables().find_newest_token()
        if newest is not None and newest > self.attempt.token:
            report = self.report or Report(self.snapshot.sha256, self.attempt.token, "failed")
            self.report = replace(report, newest_token=max(newest, report.newest_token or 0))

    def _lose(self, error: RuntimeProviderError, job: Job) -> None:
        self.lost = error
        job.stop()

    def _record_failure(self, failure: BaseException) -> None:
        reported = self.report.error if self.report is not None and self.lost is None else None
        if isinstance(failure, LeaseError) and self.lost is None:
            self._note_newest()
        try:
            fail_attempt(self.registry, self.attempt, reported or failure, self.report)
        except RuntimeProviderError as unrecorded:
            # What stopped the run matters more; the lease expires by itself.
            _log.warning("the failure could not be recorded: %s", unrecorded)

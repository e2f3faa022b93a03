"""Runs snapshots in this process: take the lease, execute on Spark, publish, register."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.cli.credentials import read_properties
from airflow_provider_runtime.cli.people import find_user
from airflow_provider_runtime.cli.profile import make_profile
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, get_error_class
from airflow_provider_runtime.core.planning.resolve.locations import make_uri
from airflow_provider_runtime.core.registry.ports import KEEP_SECONDS, Registration, Registry, RunRecord
from airflow_provider_runtime.core.runs.execution import Execution
from airflow_provider_runtime.core.runs.report import describe_error, public_report
from airflow_provider_runtime.core.runs.small_runs import is_small_run
from airflow_provider_runtime.core.runs.tables import TableCommits
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.compare.outputs import CompareRequest
    from spark_jobs.contract.comparison import Comparison
    from spark_jobs.contract.why import History, WhyRequest
    from spark_jobs.why import ReportedRun

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How the run of one period ended."""

    period: str
    report: dict[str, Any]
    registrations: tuple[Registration, ...] = ()
    problems: tuple[Problem, ...] = ()
    snapshot: Snapshot | None = None
    snapshot_uri: str | None = None
    rows_in: int | None = None
    cut_short: bool = False
    """Whether it failed while it published or after that, so that some or all outputs may be there already."""
    of_job: bool = False
    """Whether the problems are the job's, which knows places but not the text there."""
    project: str = ""
    """As it was asked for, of a run that failed before it had a snapshot."""

    @property
    def succeeded(self) -> bool:
        """Whether everything was published."""
        return not self.problems


def make_failed_result(
    period: str,
    error: RuntimeProviderError,
    snapshot: Snapshot | None = None,
    *,
    project: str = "",
    cut_short: bool = False,
) -> RunResult:
    """Return the result of a run that failed before or after Spark did its part."""
    run_id = snapshot.run_id if snapshot else None
    failed = Report("", 0, "failed", run_id, period, error=describe_error(error))
    report = public_report(failed, ())
    return RunResult(period, report, problems=error.problems, snapshot=snapshot, cut_short=cut_short, project=project)


@dataclass
class LocalRunner:
    """Executes snapshots one after the other in one Spark session, which starts with the first."""

    registry: Registry
    start_spark: Callable[[], SparkSession]
    progress: Progress
    allow_closed: bool = False
    report: Path | None = None
    """Where the report is written."""
    verify: bool = False
    """Whether nothing is published that differs from the earlier execution of the same snapshot."""
    stage_only: bool = False
    keep_seconds: float = KEEP_SECONDS
    """How long what is staged is kept for a decision."""
    compare: CompareRequest | None = None
    """What is to be reported of what changes for readers."""
    profiles: list[dict[str, Any]] | None = None
    """Where the profile of each run is added; None when they were not asked for."""

    require_spark: Callable[[], None] | None = None
    """Raises where Spark cannot be started for certain; no run is recorded then."""
    runs: int | None = None
    """How many runs like the first one Spark is started for; None when that is unknown."""
    is_small: bool = False
    """Whether it will read little for certain."""

    @cached_property
    def spark(self) -> SparkSession:
        """The session."""
        return self.start_spark()

    def stop(self) -> None:
        """Stop Spark if it has started; one whose Java process has died cannot be stopped any more."""
        if "spark" in vars(self):
            from py4j.protocol import Py4JError  # type: ignore[import-untyped]

            with contextlib.suppress(Py4JError, OSError):
                self.spark.stop()

    def execute(self, snapshot: Snapshot, snapshot_uri: str) -> RunResult:
        """Execute a snapshot under a lease of its own, and register what it wrote."""
        if self.require_spark is not None:
            self.require_spark()
        if self.runs is not None and "spark" not in vars(self):
            self.is_small = is_small_run(snapshot, self.runs)
        execution = self._make_execution(snapshot, snapshot_uri)
        execution.begin()
        keeps = self.stage_only or snapshot.plan.settings.publication.needs_approval
        return self._finish(execution, LocalJob(self, execution, keeps=keeps))

    def publish(self, snapshot: Snapshot, snapshot_uri: str) -> RunResult:
        """Publish what the run of a snapshot has staged."""
        execution = self._make_execution(snapshot, snapshot_uri)
        attempt = execution.begin_publication()
        if attempt.published is not None:
            self.progress("it was published before; nothing is left to do")
            execution.report = read_document(Report, attempt.published.report)
            return _make_result(execution, execution.finish(execution.report))
        assert attempt.staged is not None
        return self._finish(execution, PublishJob(self, execution, read_document(Report, attempt.staged.report)))

    def remove_staged(self, snapshot: Snapshot, record: RunRecord) -> None:
        """Remove what the run of a snapshot has staged, once it cannot be published any more.

        Rows that cannot be removed now go with the period's next run.
        """
        from spark_jobs.job import discard_staged

        _fill_credentials(snapshot.plan)
        discard_staged(self.find_session(snapshot), snapshot, read_document(Report, record.report))

    def find_session(self, snapshot: Snapshot) -> SparkSession | None:
        """Return the session where handling what is staged needs one."""
        from spark_jobs.sinks.publish import needs_session

        return self.spark if needs_session(snapshot) else None

    def compare_staged(self, snapshot: Snapshot, record: RunRecord, request: CompareRequest) -> Comparison:
        """Return what would change if what a run has staged were published."""
        from spark_jobs.errors import JobError
        from spark_jobs.job import compare_staged

        _fill_credentials(snapshot.plan)
        snapshot = TableCommits(snapshot, read_properties).show_published()
        try:
            return compare_staged(self.spark, snapshot, read_document(Report, record.report), request)
        except JobError as error:
            raise get_error_class(error.code)(Problem(error.code, error.message, error.hint)) from error

    def explain_rows(self, snapshot: Snapshot, run: ReportedRun, request: WhyRequest) -> History:
        """Return the histories of rows of a run that is published or staged."""
        from spark_jobs.errors import JobError
        from spark_jobs.why import explain_rows

        _fill_credentials(snapshot.plan)
        if run.report.status != "staged":
            snapshot = TableCommits(snapshot, read_properties).show_committed(run.report)
        try:
            return explain_rows(self.spark, snapshot, run, request)
        except JobError as error:
            raise get_error_class(error.code)(Problem(error.code, error.message, error.hint)) from error

    def _make_execution(self, snapshot: Snapshot, snapshot_uri: str) -> Execution:
        return Execution(
            self.registry,
            snapshot,
            snapshot_uri,
            self.allow_closed,
            who=find_user(),
            keep_seconds=self.keep_seconds,
            read_properties=read_properties,
        )

    def _finish(self, execution: Execution, job: LocalJob) -> RunResult:
        started = time.monotonic()
        try:
            registrations = execution.run(job)
        except RuntimeProviderError as error:
            if execution.report is None:
                raise
            return _make_failed_job_result(execution, execution.report, error)
        result = _make_result(execution, registrations)
        result.report["timings"]["total_seconds"] = round(time.monotonic() - started, 3)
        return result


@dataclass
class LocalJob:
    """The Spark job of an execution, in this process."""

    runner: LocalRunner
    execution: Execution
    keeps: bool = False
    """Whether its rows are staged and not published."""

    def run(self) -> Report:
        """Run the job and return its report."""
        from spark_jobs.job import run_snapshot
        from spark_jobs.spark.stages import find_last_stage, list_stages

        snapshot, token = self.execution.snapshot, self.execution.attempt.token
        _fill_credentials(snapshot.plan)
        if self.runner.compare is not None or snapshot.plan.settings.publication.compare:
            snapshot = self.execution.show_published()
        until = int((time.time() + self.execution.keep_seconds) * 1000) if self.keeps else None
        spark, profiles = self.runner.spark, self.runner.profiles
        last = find_last_stage(spark) if profiles is not None else -1
        report = run_snapshot(
            spark,
            snapshot,
            token,
            progress=self.runner.progress,
            before_publish=self.check_attempt,
            failing_rows_uri=self._choose_place(),
            earlier=self.execution.earlier,
            verify=self.runner.verify,
            keep_until=until,
            compare=self.runner.compare,
        )
        if profiles is not None:
            profiles.append(make_profile(snapshot.project.name, report, list_stages(spark, last)))
        return report

    def _choose_place(self) -> str:
        """Return the folder for rows that fail a check: beside the report, or beside the snapshot without one."""
        from spark_jobs.job import make_failing_rows_uri

        if self.runner.report is None:
            return make_failing_rows_uri(make_uri(Path(), self.execution.snapshot_uri))
        period = self.execution.snapshot.period.identifier
        return f"{make_failing_rows_uri(self.runner.report.resolve().as_uri())}/{period}"

    def stop(self) -> None:
        """Stop what Spark is doing."""
        if "spark" in vars(self.runner):
            self.runner.spark.interruptAll()

    def check_attempt(self) -> None:
        """Raise the job's own error when the attempt may no longer publish."""
        from spark_jobs.errors import JobError

        try:
            self.execution.check()
        except RuntimeProviderError as error:
            problem = error.problems[0]
            raise JobError(problem.code, problem.message, hint=problem.hint) from error


class PublishJob(LocalJob):
    """The second half of a staged run, in this process."""

    def __init__(self, runner: LocalRunner, execution: Execution, staged: Report) -> None:
        super().__init__(runner, execution)
        self.staged = staged

    def run(self) -> Report:
        """Publish what was staged and return the report."""
        from spark_jobs.job import publish_staged

        snapshot = self.execution.snapshot
        _fill_credentials(snapshot.plan)
        return publish_staged(
            self.runner.find_session(snapshot),
            snapshot,
            self.staged,
            progress=self.runner.progress,
            before_publish=self.check_attempt,
        )


def _make_result(execution: Execution, registrations: tuple[Registration, ...]) -> RunResult:
    assert execution.report is not None
    period, report = execution.snapshot.period.identifier, public_report(execution.report, registrations)
    rows_in = execution.report.rows_in
    return RunResult(period, report, registrations, (), execution.snapshot, execution.snapshot_uri, rows_in)


def _make_failed_job_result(execution: Execution, report: Report, error: RuntimeProviderError) -> RunResult:
    """Return the result of a job that failed, or whose success could not be registered."""
    snapshot = execution.snapshot
    cut_short = bool(report.outputs) if report.succeeded else report.cut_short
    if execution.lost is not None or report.succeeded:
        if not cut_short:
            raise error
        return make_failed_result(snapshot.period.identifier, error, snapshot, cut_short=True)
    return RunResult(
        snapshot.period.identifier,
        public_report(report, ()),
        problems=error.problems,
        snapshot=snapshot,
        cut_short=cut_short,
        of_job=True,
    )


def _fill_credentials(plan: Plan) -> None:
    """Put what `airflow://` references of a snapshot stand for where the job looks for it: the environment."""
    references = [ref for ref in plan.list_credential_refs() if ref.startswith("airflow://")]
    if not references:
        return
    from airflow_provider_runtime.hooks.credentials import make_environment

    os.environ.update(make_environment(references))

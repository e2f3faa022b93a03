"""Runs a project in this process: resolve, take the lease, execute on Spark, publish, register."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import (
    Problem,
    RuntimeProviderError,
)
from airflow_provider_runtime.core.registry.ports import Attempt, Registration, Registry
from airflow_provider_runtime.core.runs.life import (
    begin_attempt,
    check_attempt,
    describe_error,
    fail_attempt,
    finish_attempt,
    keep_alive,
    public_report,
)
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.report import ErrorReport, Report
from spark_jobs.contract.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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

    @property
    def succeeded(self) -> bool:
        """Whether everything was published."""
        return not self.problems


def make_failed_result(
    period: str, error: RuntimeProviderError, snapshot: Snapshot | None = None, *, cut_short: bool = False
) -> RunResult:
    """Return the result of a run that failed before or after Spark did its part."""
    report: dict[str, Any] = {
        "run_id": snapshot.run_id if snapshot else None,
        "status": "failed",
        "period": period,
        "operations": [],
        "outputs": [],
        "timings": {},
        "error": asdict(describe_error(error)),
    }
    return RunResult(period, report, problems=error.problems, snapshot=snapshot, cut_short=cut_short)


@dataclass
class LocalRunner:
    """Executes snapshots one after the other in one Spark session, which starts with the first."""

    registry: Registry
    start_spark: Callable[[], SparkSession]
    progress: Progress
    allow_closed: bool = False

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
        started = time.monotonic()
        attempt = begin_attempt(self.registry, snapshot, snapshot_uri=snapshot_uri, allow_closed=self.allow_closed)
        try:
            return self._execute(snapshot, snapshot_uri, attempt, started)
        except BaseException as error:
            self._record_failure(attempt, error)
            raise

    def _record_failure(
        self, attempt: Attempt, error: ErrorReport | BaseException, report: Report | None = None
    ) -> None:
        try:
            fail_attempt(self.registry, attempt, error, report)
        except RuntimeProviderError as unrecorded:
            # What stopped the run matters more; the lease ends with this process.
            self.progress(f"the failure could not be recorded: {unrecorded}")

    def _execute(self, snapshot: Snapshot, uri: str, attempt: Attempt, started: float) -> RunResult:
        from spark_jobs.errors import JobError
        from spark_jobs.run_project import run_snapshot

        lost: list[RuntimeProviderError] = []
        fill_credentials(snapshot.plan)
        spark = self.spark

        def stop(error: RuntimeProviderError) -> None:
            lost.append(error)
            spark.interruptAll()

        def check() -> None:
            try:
                check_attempt(self.registry, attempt)
            except RuntimeProviderError as error:
                lost.append(error)
                problem = error.problems[0]
                raise JobError(problem.code, problem.message, hint=problem.hint) from error

        with keep_alive(self.registry, attempt, stop):
            report = run_snapshot(spark, snapshot, attempt.token, progress=self.progress, before_publish=check)
        cut_short = bool(report.outputs) if report.succeeded else report.cut_short
        if report.error is not None and not lost:
            problem = report.error.to_problem(snapshot.project.name)
            self._record_failure(attempt, report.error, report)
            return RunResult(
                snapshot.period.identifier,
                public_report(report, ()),
                problems=(problem,),
                snapshot=snapshot,
                cut_short=cut_short,
                of_job=True,
            )
        try:
            if lost:
                raise lost[0]
            registrations = finish_attempt(self.registry, attempt, snapshot, report)
        except RuntimeProviderError as error:
            if not cut_short:
                raise
            self._record_failure(attempt, error)
            return make_failed_result(snapshot.period.identifier, error, snapshot, cut_short=cut_short)
        public = public_report(report, registrations)
        public["timings"]["total_seconds"] = round(time.monotonic() - started, 3)
        return RunResult(snapshot.period.identifier, public, registrations, (), snapshot, uri, report.rows_in)


def fill_credentials(plan: Plan) -> None:
    """Put what `airflow://` references of a snapshot stand for where the job looks for it: the environment."""
    references = [ref for ref in plan.list_credential_refs() if ref.startswith("airflow://")]
    if not references:
        return
    from airflow_provider_runtime.hooks.credentials import read_airflow_credential
    from spark_jobs.credentials import credential_variable

    for ref in references:
        os.environ[credential_variable(ref)] = read_airflow_credential(ref)

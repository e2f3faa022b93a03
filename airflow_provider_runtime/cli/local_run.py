"""Runs a project in this process: resolve, take the lease, execute on Spark, publish, register."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import (
    Place,
    Problem,
    RuntimeProviderError,
    SnapshotError,
    get_error_class,
)
from airflow_provider_runtime.core.planning.snapshot.document import Snapshot
from airflow_provider_runtime.core.registry.ports import Attempt, Registration, Registry
from airflow_provider_runtime.core.runs.life import (
    begin_attempt,
    check_attempt,
    fail_attempt,
    finish_attempt,
    keep_alive,
    public_report,
)
from spark_jobs.contract.codes import find_code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.snapshot import Snapshot as JobSnapshot

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
    problem = error.problems[0]
    place = problem.location
    report: dict[str, Any] = {
        "run_id": snapshot.run_id if snapshot else None,
        "status": "failed",
        "period": period,
        "operations": [],
        "outputs": [],
        "timings": {},
        "error": {
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "project": place.project,
            "operation_seq": place.operation_seq,
            "field": place.field,
        },
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
        job_snapshot = _parse(snapshot)
        attempt = begin_attempt(
            self.registry,
            snapshot.document,
            snapshot.sha256,
            snapshot_uri=snapshot_uri,
            allow_closed=self.allow_closed,
        )
        try:
            return self._execute(snapshot, job_snapshot, snapshot_uri, attempt, started)
        except BaseException as error:
            self._record_failure(attempt, error)
            raise

    def _record_failure(
        self, attempt: Attempt, error: Mapping[str, Any] | BaseException, report: Mapping[str, Any] | None = None
    ) -> None:
        try:
            fail_attempt(self.registry, attempt, error, report)
        except RuntimeProviderError as unrecorded:
            # What stopped the run matters more; the lease ends with this process.
            self.progress(f"the failure could not be recorded: {unrecorded}")

    def _execute(
        self, snapshot: Snapshot, job_snapshot: JobSnapshot, uri: str, attempt: Attempt, started: float
    ) -> RunResult:
        from spark_jobs.errors import JobError
        from spark_jobs.run_project import run_snapshot

        lost: list[RuntimeProviderError] = []
        fill_credentials(snapshot.document)
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
            job_report = run_snapshot(
                spark, job_snapshot, attempt.token, progress=self.progress, before_publish=check
            ).to_dict()
        succeeded = job_report["status"] == "succeeded"
        cut_short = bool(job_report["outputs"] if succeeded else job_report.get("cut_short"))
        if not succeeded and not lost:
            job_error = read_job_error(job_report, snapshot)
            self._record_failure(attempt, job_report["error"], job_report)
            result = public_report(job_report, ())
            return RunResult(
                snapshot.period_identifier,
                result,
                problems=job_error.problems,
                snapshot=snapshot,
                cut_short=cut_short,
                of_job=True,
            )
        try:
            if lost:
                raise lost[0]
            registrations = finish_attempt(self.registry, attempt, snapshot.document, job_report)
        except RuntimeProviderError as error:
            if not cut_short:
                raise
            self._record_failure(attempt, error)
            return make_failed_result(snapshot.period_identifier, error, snapshot, cut_short=cut_short)
        report = public_report(job_report, registrations)
        report["timings"]["total_seconds"] = round(time.monotonic() - started, 3)
        rows_in = job_report.get("rows_in")
        return RunResult(snapshot.period_identifier, report, registrations, (), snapshot, uri, rows_in)


def _parse(snapshot: Snapshot) -> JobSnapshot:
    """Return the snapshot as the job reads it, before anything is done for it."""
    from spark_jobs.errors import JobError
    from spark_jobs.snapshot import parse_snapshot

    try:
        return parse_snapshot(snapshot.content, snapshot.sha256)
    except JobError as error:
        raise SnapshotError(Problem(error.code, error.message, error.hint)) from error


def read_job_error(report: Mapping[str, Any], snapshot: Snapshot) -> RuntimeProviderError:
    """Return the job's error as one of ours, pointing at the YAML that it comes from."""
    error = report["error"]
    location = Place(
        file=error.get("file"),
        line=error.get("line") or 1,
        column=error.get("column") or 1,
        project=error.get("project") or snapshot.document["project"]["name"],
        operation_seq=error.get("operation_seq"),
        field=error.get("field"),
    )
    problem = Problem(find_code(error["code"]) or "INFRA_001", str(error["message"]), error.get("hint"), location)
    return get_error_class(problem.code)(problem)


def fill_credentials(document: Mapping[str, Any]) -> None:
    """Put what `airflow://` references of a snapshot stand for where the job looks for it: the environment."""
    references = sorted(ref for ref in list_credential_refs(document) if ref.startswith("airflow://"))
    if not references:
        return
    from airflow_provider_runtime.hooks.credentials import read_airflow_credential
    from spark_jobs.credentials import credential_variable

    for ref in references:
        os.environ[credential_variable(ref)] = read_airflow_credential(ref)


def list_credential_refs(document: Mapping[str, Any]) -> set[str]:
    """Return every credential reference of a snapshot's plan."""
    plan = document["plan"]
    locations = [location for table in plan["tables"].values() for location in table["locations"]]
    destinations = [operation["destination"] for operation in plan["operations"] if operation["type"] == "output"]
    return {place["credential_ref"] for place in (*locations, *destinations) if place.get("credential_ref")}

"""Executes a snapshot, and publishes, compares or discards what an execution has staged.

Every failure is in the report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from spark_jobs.checks.evaluation import raise_failures
from spark_jobs.compare.outputs import CompareRequest, compare_outputs
from spark_jobs.contract.checks import CheckResult, describe_result
from spark_jobs.contract.comparison import Comparison
from spark_jobs.contract.report import STEPS, OperationReport, OutputReport, Report
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.credentials import read_options
from spark_jobs.errors import JobError, shorten
from spark_jobs.progress import Progress, list_matches, make_observer, make_progress
from spark_jobs.report import make_error_reports
from spark_jobs.rows.executor import ExecutionReport, execute
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.jvm import describe_jobs, is_jvm_alive
from spark_jobs.spark.session import configure_session
from spark_jobs.spark.translation import translate
from spark_jobs.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_snapshot(
    spark: SparkSession,
    snapshot: Snapshot,
    attempt: int,
    *,
    progress: Progress | None = None,
    before_publish: Callable[[], None] | None = None,
    failing_rows_uri: str | None = None,
    earlier: Report | None = None,
    verify: bool = False,
    keep_until: int | None = None,
    compare: CompareRequest | None = None,
) -> Report:
    """Execute a snapshot, check its outputs and publish them; every failure is in the report.

    Rows that fail a check are kept in the folder `failing_rows_uri`. `before_publish` is called when all operations and
    checks have succeeded; what it raises stops the publication. `earlier` is the report of an execution of the same
    snapshot: differences are reported, and with `verify` refused. With `keep_until`, milliseconds since 1970,
    nothing is published: the rows stay staged until then. `compare` asks for what changes for readers.
    """
    say = make_progress(progress)
    job = _Job(spark, snapshot, attempt, say, Verification(earlier, say, verify=verify))
    try:
        configure_session(spark)
        job.compute(failing_rows_uri, reads_staged=compare is not None)
        job.compare(compare)
        job.finish(keep_until, before_publish)
    except Exception as failure:  # noqa: BLE001 - every failure is in the report
        return job.fail(failure)
    finally:
        if is_jvm_alive(spark):
            describe_jobs(spark, None)
    return job.make_report("succeeded" if keep_until is None else "staged")


class _Job:
    """One execution of a snapshot by this job; its report says what it has done so far."""

    def __init__(
        self, spark: SparkSession, snapshot: Snapshot, attempt: int, say: Progress, verification: Verification
    ) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self._attempt = attempt
        self._say = say
        self._verification = verification
        self._started = self._computed = time.monotonic()
        self._sinks: Publication | None = None
        self._operations: list[OperationReport] = []
        self._executed: ExecutionReport | None = None
        self._checks: tuple[CheckResult, ...] = ()
        self._comparison: Comparison | None = None
        self._outputs: tuple[OutputReport, ...] = ()

    def compute(self, failing_rows_uri: str | None, *, reads_staged: bool) -> None:
        """Execute the operations, stage the outputs and check them."""
        snapshot, say = self._snapshot, self._say
        self._sinks = Publication(self._spark, snapshot, self._attempt, reads_staged=reads_staged)
        say(f"run {snapshot.run_id}: project {snapshot.project.name}, period {snapshot.period.identifier}")
        executed = execute(
            self._spark,
            snapshot,
            self._sinks,
            credentials=read_options,
            progress=make_observer(self._operations, say),
            failing_rows_uri=failing_rows_uri,
            on_sources=self._verification.compare_sources,
        )
        self._computed = time.monotonic()
        self._executed, self._checks = executed, executed.checks
        for line in (*list_matches(executed.operations), *map(describe_result, executed.checks)):
            say(line)
        raise_failures(snapshot.plan.checks, executed.checks)

    def compare(self, request: CompareRequest | None) -> None:
        """Compare if it was asked for, or if the project asks for it and something would be replaced."""
        assert self._sinks is not None
        if request is not None or self._snapshot.plan.settings.publication.compare:
            self._sinks.seal()
            self._comparison = compare_outputs(self._snapshot.plan.outputs, self._sinks, request)

    def finish(self, keep_until: int | None, before_publish: Callable[[], None] | None) -> None:
        """Publish the outputs, or keep them staged."""
        assert self._sinks is not None
        compare_rows = self._verification.compare_rows
        describe_jobs(self._spark, STEPS["publish_seconds"])
        if keep_until is None:
            self._outputs = self._sinks.publish(before_publish, compare_rows)
        else:
            self._outputs = self._sinks.keep_staged(keep_until, before_publish, compare_rows)
        for output in self._outputs:
            done = "published" if keep_until is None else "staged"
            self._say(f"{done} {output.rows} rows to {output.destination}")

    def make_report(self, status: Literal["succeeded", "staged"]) -> Report:
        """Return the report of an execution that has succeeded."""
        executed = self._executed
        assert executed is not None
        published = time.monotonic()
        return Report(
            snapshot_sha256=self._snapshot.sha256,
            attempt=self._attempt,
            status=status,
            run_id=self._snapshot.run_id,
            period=self._snapshot.period.identifier,
            operations=tuple(executed.operations),
            outputs=self._outputs,
            checks=self._checks,
            rows_in=executed.rows_in,
            sources=executed.sources,
            differences=tuple(self._verification.differences),
            comparison=self._comparison,
            timings={
                "execute_seconds": round(self._computed - self._started - executed.timings["check_seconds"], 3),
                **executed.timings,
                "publish_seconds": round(published - self._computed, 3),
                "total_seconds": round(published - self._started, 3),
            },
        )

    def fail(self, failure: Exception) -> Report:
        """Remove what was staged, and return the report of the failure."""
        error = explain_failure(failure, self._snapshot, self._spark)
        if self._sinks is not None:
            self._sinks.abandon()
        self._say(f"failed: {error}")
        seconds = time.monotonic() - self._started
        return replace(
            make_failure(self._snapshot.sha256, self._attempt, error, self._snapshot, self._operations, seconds),
            checks=self._checks,
            cut_short=self._sinks is not None and self._sinks.begun,
            sources=self._verification.sources,
            differences=tuple(self._verification.differences),
        )


def make_failing_rows_uri(report_uri: str) -> str:
    """Return the folder beside a report in which rows that fail a check are kept."""
    return report_uri.removesuffix(".json") + ".failing-rows"


def publish_staged(
    spark: SparkSession | None,
    snapshot: Snapshot,
    staged: Report,
    *,
    progress: Progress | None = None,
    before_publish: Callable[[], None] | None = None,
) -> Report:
    """Publish what the attempt of a report has staged; what fails leaves it staged, and can be tried again.

    `spark` may be None where `needs_session` says that no session is needed.
    """
    say = make_progress(progress)
    started = time.monotonic()
    sinks: Publication | None = None
    try:
        if spark is not None:
            configure_session(spark)
        sinks = take_up_staged(spark, snapshot, staged)
        outputs = sinks.publish_staged(staged.outputs, before_publish)
        for output in outputs:
            say(f"published {output.rows} rows to {output.destination}")
        timings = {**staged.timings, "publish_seconds": round(time.monotonic() - started, 3)}
        return replace(staged, status="succeeded", outputs=outputs, timings=timings)
    except Exception as failure:  # noqa: BLE001 - every failure is in the report
        error = explain_failure(failure, snapshot, spark)
        say(f"failed: {error}")
        seconds = time.monotonic() - started
        failed = make_failure(snapshot.sha256, staged.attempt, error, snapshot, staged.operations, seconds)
        return replace(failed, cut_short=sinks is not None and sinks.begun)


def compare_staged(spark: SparkSession, snapshot: Snapshot, staged: Report, request: CompareRequest) -> Comparison:
    """Return what would change if what the attempt of a report has staged were published."""
    configure_session(spark)
    sinks = take_up_staged(spark, snapshot, staged)
    try:
        compared = compare_outputs(snapshot.plan.outputs, sinks, request)
        assert compared is not None
        return compared
    except Exception as failure:
        raise explain_failure(failure, snapshot, spark) from failure


def discard_staged(spark: SparkSession | None, snapshot: Snapshot, staged: Report) -> None:
    """Remove what the attempt of a report has staged, as far as it is still there."""
    if spark is not None:
        configure_session(spark)
    take_up_staged(spark, snapshot, staged).discard_staged(staged.outputs)


def take_up_staged(spark: SparkSession | None, snapshot: Snapshot, staged: Report) -> Publication:
    """Return the outputs that the attempt of a report has staged."""
    nonces = {output.staged.nonce for output in staged.outputs if output.staged is not None}
    if staged.status != "staged" or len(nonces) != 1 or not staged.is_of(snapshot.sha256, staged.attempt):
        raise JobError("SNAPSHOT_001", "the report is not of rows that this snapshot has staged")
    return Publication(spark, snapshot, staged.attempt, nonces.pop())


def explain_failure(failure: Exception, snapshot: Snapshot, spark: SparkSession | None) -> JobError:
    """Return what went wrong in terms of the project."""
    if isinstance(failure, JobError):
        return failure
    if spark is not None and not is_jvm_alive(spark):
        hint = "it was killed, or ran out of memory: see the log of the driver, then run it again"
        return JobError("INFRA_001", "the Java process of the Spark driver has ended", hint=hint)
    try:
        return translate(failure, snapshot.plan)
    except Exception as unexplained:  # noqa: BLE001 - the report must be written whatever happens
        text = shorten(f"{type(unexplained).__name__}: {unexplained}")
        return JobError("INFRA_001", f"the job failed: {text}", hint="see the log of the driver")


def make_failure(
    sha256: str,
    attempt: int,
    error: JobError,
    snapshot: Snapshot | None,
    operations: Sequence[OperationReport] = (),
    seconds: float = 0.0,
) -> Report:
    """Return the report of a job that failed."""
    errors = make_error_reports(error, snapshot)
    return Report(
        snapshot_sha256=sha256.removeprefix("sha256:").lower(),
        attempt=attempt,
        status="failed",
        run_id=snapshot.run_id if snapshot is not None else None,
        period=snapshot.period.identifier if snapshot is not None else None,
        operations=tuple(operations),
        timings={"total_seconds": round(seconds, 3)},
        error=errors[0],
        errors=errors,
        newest_token=error.newest_token,
        exit_code=error.exit_code,
    )

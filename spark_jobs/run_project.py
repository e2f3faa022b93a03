"""The Spark application: executes a run snapshot and publishes its outputs.

    spark-submit --py-files spark_jobs.zip run_project.py --snapshot URI --sha256 HEX --attempt TOKEN [--report URI]

With `--keep-until MILLIS` nothing is published: the rows stay staged, as the report says where. With `--publish URI`,
the address of that report, nothing is computed: what was staged is published, without Spark where files of this machine
are only renamed.

Exit status: 0 published or staged, 10 the definition or the snapshot is wrong, 11 the data are, 12 something around it
failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.checks.evaluation import raise_failures
from spark_jobs.compare.outputs import CompareRequest, compare_outputs
from spark_jobs.comparison import Comparison
from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.checks import describe_result
from spark_jobs.contract.codes import EXIT_INFRASTRUCTURE
from spark_jobs.contract.comparison import Comparison as OutputsCompared
from spark_jobs.contract.file_lists import SUFFIX
from spark_jobs.contract.progress import write_progress
from spark_jobs.contract.published import add_published
from spark_jobs.contract.report import STEPS, Report
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES, Snapshot, UnreadableSnapshotError, parse_snapshot
from spark_jobs.credentials import read_options
from spark_jobs.errors import JobError, shorten
from spark_jobs.report import make_error_reports, read_report, write_report
from spark_jobs.rows.executor import execute
from spark_jobs.sinks.publish import Publication, needs_session
from spark_jobs.spark.jvm import is_jvm_alive
from spark_jobs.spark.session import START_SETTINGS, configure_session, ignore_pandas, require_server
from spark_jobs.spark.stages import describe_jobs
from spark_jobs.spark.storage import open_storage
from spark_jobs.spark.translation import translate
from spark_jobs.submitter import require_submitter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.checks import CheckResult
    from spark_jobs.contract.report import OperationReport

Progress = Callable[[str], None]
LONGEST_LINE = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the application and return its exit status."""
    options = _parse_arguments(arguments)
    spark: SparkSession | None = None
    signal.signal(signal.SIGTERM, _stop_on_signal)
    try:
        # A local snapshot is read before Spark is started, so that a wrong one fails at once.
        snapshot = read_snapshot(options.snapshot, options.sha256) if is_local(options.snapshot) else None
        if snapshot is None or _needs_session(options, snapshot):
            spark = _start_session(snapshot)
        if snapshot is None:
            snapshot = read_snapshot(options.snapshot, options.sha256, spark)
        report = _run(options, spark, snapshot)
    except JobError as error:
        report = _make_failure(options.sha256, options.attempt, error, None)
        _print_line(f"failed: {error}")
    # Nothing is left to stop, and the report must be written.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = _deliver(report, options.report, spark)
    if spark is not None:
        spark.stop()
    return code


def _needs_session(options: argparse.Namespace, snapshot: Snapshot) -> bool:
    """Tell whether Spark has to start: not where files of this machine are renamed and nothing else."""
    addresses = (options.publish, options.report)
    return options.publish is None or not all(map(is_local, filter(None, addresses))) or needs_session(snapshot)


def _run(options: argparse.Namespace, spark: SparkSession | None, snapshot: Snapshot) -> Report:
    if options.published is not None:
        snapshot = _add_published(snapshot, options.published, spark)
    if options.publish is None:
        assert spark is not None
        return run_snapshot(
            spark,
            snapshot,
            options.attempt,
            before_publish=require_submitter,
            failing_rows_uri=None if options.report is None else make_failing_rows_uri(options.report),
            earlier=read_report(options.earlier, spark) if options.earlier else None,
            verify=options.verify,
            keep_until=options.keep_until,
            compare=CompareRequest() if options.compare else None,
        )
    staged = read_report(options.publish, spark)
    if not staged.is_of(snapshot.sha256, options.attempt):
        raise JobError("SNAPSHOT_001", f"the report {options.publish} is not one of attempt {options.attempt}")
    return publish_staged(spark, snapshot, staged, before_publish=require_submitter)


def _add_published(snapshot: Snapshot, uri: str, spark: SparkSession | None) -> Snapshot:
    try:
        return add_published(snapshot, json.loads(open_storage(uri, spark).read_bytes(uri, MAX_SNAPSHOT_BYTES)))
    except (OSError, ValueError) as failure:
        message = f"what is published, which {uri} tells, cannot be read: {failure}"
        raise JobError("INFRA_001", message, hint="check the address; the file may have been removed") from failure


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
    """Execute a snapshot, check its outputs and publish them; whatever fails is told in the report.

    Rows that fail a check are kept in the folder `failing_rows_uri`. `before_publish` is called when all operations and
    checks have succeeded; what it raises stops the publication. `earlier` is the report of an execution of the same
    snapshot: in what this one differs is told, and with `verify` refused. With `keep_until`, milliseconds since 1970,
    nothing is published: the rows stay staged until then. `compare` asks for what changes for readers.
    """
    tell = _make_teller(progress)
    started = time.monotonic()
    operations: list[OperationReport] = []
    checks: tuple[CheckResult, ...] = ()
    sinks: Publication | None = None
    comparison = Comparison(earlier, tell, verify=verify)
    try:
        configure_session(spark)
        sinks = Publication(spark, snapshot, attempt, reads_staged=compare is not None)
        tell(f"run {snapshot.run_id}: project {snapshot.project.name}, period {snapshot.period.identifier}")
        executed = execute(
            spark,
            snapshot,
            sinks,
            credentials=read_options,
            progress=_make_observer(operations, tell),
            failing_rows_uri=failing_rows_uri,
            on_sources=comparison.compare_sources,
        )
        computed = time.monotonic()
        for line in _list_matches(executed.operations):
            tell(line)
        checks = executed.checks
        for check in checks:
            tell(describe_result(check))
        raise_failures(snapshot.plan.checks, checks)
        changes = _compare(snapshot, sinks, compare)
        describe_jobs(spark, STEPS["publish_seconds"])
        if keep_until is None:
            outputs = sinks.publish(before_publish, comparison.compare_rows)
        else:
            outputs = sinks.keep_staged(keep_until, before_publish, comparison.compare_rows)
        published = time.monotonic()
        for output in outputs:
            tell(f"{'published' if keep_until is None else 'staged'} {output.rows} rows to {output.destination}")
        return Report(
            snapshot_sha256=snapshot.sha256,
            attempt=attempt,
            status="succeeded" if keep_until is None else "staged",
            run_id=snapshot.run_id,
            period=snapshot.period.identifier,
            operations=tuple(executed.operations),
            outputs=outputs,
            checks=checks,
            rows_in=executed.rows_in,
            sources=executed.sources,
            differences=tuple(comparison.differences),
            comparison=changes,
            timings={
                "execute_seconds": round(computed - started - executed.timings["check_seconds"], 3),
                **executed.timings,
                "publish_seconds": round(published - computed, 3),
                "total_seconds": round(published - started, 3),
            },
        )
    except Exception as failure:  # noqa: BLE001 - whatever fails is told in the report
        error = failure if isinstance(failure, JobError) else _explain(failure, snapshot, spark)
        if sinks is not None:
            sinks.abandon()
        tell(f"failed: {error}")
        failure_seconds = time.monotonic() - started
        failed = _make_failure(snapshot.sha256, attempt, error, snapshot, operations, failure_seconds)
        return replace(
            failed,
            checks=checks,
            cut_short=sinks is not None and sinks.begun,
            sources=comparison.sources,
            differences=tuple(comparison.differences),
        )
    finally:
        if is_jvm_alive(spark):
            describe_jobs(spark, None)


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

    Without a session where `needs_session` asks for none.
    """
    tell = _make_teller(progress)
    started = time.monotonic()
    sinks: Publication | None = None
    try:
        if spark is not None:
            configure_session(spark)
        sinks = _take_up(spark, snapshot, staged)
        outputs = sinks.publish_staged(staged.outputs, before_publish)
        for output in outputs:
            tell(f"published {output.rows} rows to {output.destination}")
        timings = {**staged.timings, "publish_seconds": round(time.monotonic() - started, 3)}
        return replace(staged, status="succeeded", outputs=outputs, timings=timings)
    except Exception as failure:  # noqa: BLE001 - whatever fails is told in the report
        error = failure if isinstance(failure, JobError) else _explain(failure, snapshot, spark)
        tell(f"failed: {error}")
        seconds = time.monotonic() - started
        failed = _make_failure(snapshot.sha256, staged.attempt, error, snapshot, staged.operations, seconds)
        return replace(failed, cut_short=sinks is not None and sinks.begun)


def compare_staged(spark: SparkSession, snapshot: Snapshot, staged: Report, request: CompareRequest) -> OutputsCompared:
    """Return what would change if what the attempt of a report has staged were published."""
    configure_session(spark)
    sinks = _take_up(spark, snapshot, staged)
    try:
        compared = compare_outputs(snapshot.plan.outputs, sinks, request)
        assert compared is not None
        return compared
    except Exception as failure:
        raise failure if isinstance(failure, JobError) else _explain(failure, snapshot, spark) from failure


def _compare(snapshot: Snapshot, sinks: Publication, request: CompareRequest | None) -> OutputsCompared | None:
    """Compare where somebody asks for it, or the project does and something would be replaced."""
    if request is None and not snapshot.plan.settings.publication.compare:
        return None
    sinks.seal()
    return compare_outputs(snapshot.plan.outputs, sinks, request)


def discard_staged(spark: SparkSession | None, snapshot: Snapshot, staged: Report) -> None:
    """Remove what the attempt of a report has staged, as far as it is still there."""
    if spark is not None:
        configure_session(spark)
    _take_up(spark, snapshot, staged).discard_staged(staged.outputs)


def _take_up(spark: SparkSession | None, snapshot: Snapshot, staged: Report) -> Publication:
    nonces = {output.staged.nonce for output in staged.outputs if output.staged is not None}
    if staged.status != "staged" or len(nonces) != 1 or not staged.is_of(snapshot.sha256, staged.attempt):
        raise JobError("SNAPSHOT_001", "the report does not tell of rows that this snapshot has staged")
    return Publication(spark, snapshot, staged.attempt, nonces.pop())


def _make_teller(progress: Progress | None) -> Progress:
    say = progress or _print_line

    def tell(text: str) -> None:
        # What comes from data or names cannot make two lines of one.
        say(shorten(text, LONGEST_LINE))

    return tell


def _stop_on_signal(number: int, frame: object) -> None:
    """Let a driver that is asked to end write its report first."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise JobError("INFRA_001", f"the job was stopped by signal {number}", hint="run it again")


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_project.py", description="Execute a run snapshot on Spark.")
    parser.add_argument("--snapshot", required=True, metavar="URI", help="the run snapshot")
    parser.add_argument("--sha256", required=True, metavar="HEX", help="the digest that the snapshot must have")
    parser.add_argument(
        "--attempt", required=True, type=int, metavar="TOKEN", help="a number that grows with each attempt"
    )
    parser.add_argument(
        "--earlier", metavar="URI", help="the report of an earlier execution of the snapshot, to compare with"
    )
    parser.add_argument("--verify", action="store_true", help="publish nothing that differs from it")
    parser.add_argument("--report", metavar="URI", help="where the report is written")
    parser.add_argument(
        "--keep-until", type=int, metavar="MILLIS", help="publish nothing: keep the rows staged until this time"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="tell in the report what would change for readers, whatever the project asks",
    )
    parser.add_argument(
        "--published", metavar="URI", help="where readers find the rows of tables that are replaced, to compare with"
    )
    parser.add_argument("--publish", metavar="URI", help="publish what the attempt of this report has staged")
    return parser.parse_args(arguments)


def _start_session(snapshot: Snapshot | None) -> SparkSession:
    ignore_pandas()
    from pyspark.sql import SparkSession

    server = os.environ.get("SPARK_REMOTE")
    builder = SparkSession.builder
    if server:
        require_server(server)
    else:
        for key, value in START_SETTINGS.items():
            builder = builder.config(key, value)
    name = "run_project" if snapshot is None else f"{snapshot.project.name} {snapshot.period.identifier}"
    try:
        return builder.appName(name).getOrCreate()
    except Exception as failure:
        reason = shorten(str(failure))
        raise JobError("INFRA_001", f"Spark did not start: {reason}", hint="see the log of the driver") from failure


def read_snapshot(uri: str, sha256: str, spark: SparkSession | None = None) -> Snapshot:
    """Return the snapshot at an address that this machine, or the session, can read; SNAPSHOT_001 when it cannot be."""

    def read(address: str) -> bytes:
        try:
            content = open_storage(address, spark).read_bytes(address, MAX_SNAPSHOT_BYTES)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            hint = "check the address; the file may have been removed"
            raise JobError("SNAPSHOT_001", f"the snapshot {address} cannot be read: {reason}", hint=hint) from failure
        if len(content) > MAX_SNAPSHOT_BYTES:
            message = f"{address} is larger than {MAX_SNAPSHOT_BYTES >> 20} MiB: it is not a snapshot"
            raise JobError("SNAPSHOT_001", message, hint="name a snapshot's file")
        return content

    try:
        return parse_snapshot(read(uri), sha256, lambda: read(uri + SUFFIX))
    except UnreadableSnapshotError as failure:
        raise JobError("SNAPSHOT_001", str(failure), hint=failure.hint) from failure


def _explain(failure: Exception, snapshot: Snapshot, spark: SparkSession | None) -> JobError:
    if spark is not None and not is_jvm_alive(spark):
        hint = "it was killed, or ran out of memory: see the log of the driver, then run it again"
        return JobError("INFRA_001", "the Java process of the Spark driver has ended", hint=hint)
    try:
        return translate(failure, snapshot.plan)
    except Exception as unexplained:  # noqa: BLE001 - the report must be written whatever happens
        text = shorten(f"{type(unexplained).__name__}: {unexplained}")
        return JobError("INFRA_001", f"the job failed: {text}", hint="see the log of the driver")


def _make_observer(operations: list[OperationReport], tell: Progress) -> Callable[[OperationReport], None]:
    def observe(done: OperationReport) -> None:
        operations.append(done)
        counted = "" if done.rows_affected is None else f", {done.rows_affected} rows"
        took = "computed when it is read" if done.computed_with is None else f"{done.seconds:.1f} s"
        tell(f"operation {done.seq} {done.type} {done.name!r}{counted}, {took}")

    return observe


def _list_matches(operations: Sequence[OperationReport]) -> Iterator[str]:
    for operation in operations:
        for join in operation.joins:
            if join.matched is not None and join.unmatched is not None:
                found = f"{join.matched} rows with a match, {join.unmatched} without"
                yield f"operation {operation.seq} join {join.alias!r}: {found}"


def _make_failure(
    sha256: str,
    attempt: int,
    error: JobError,
    snapshot: Snapshot | None,
    operations: Sequence[OperationReport] = (),
    seconds: float = 0.0,
) -> Report:
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


def _deliver(report: Report, uri: str | None, spark: SparkSession | None) -> int:
    """Write the report, or print it when nobody said where to; a report that cannot be written fails the job."""
    if uri is None:
        sys.stdout.write(json.dumps(report.to_dict(), ensure_ascii=False) + "\n")
        return report.exit_code
    try:
        write_report(report, uri, spark)
    except OSError as failure:
        _print_line(f"failed: the report {uri} cannot be written: {failure.strerror or failure}")
        return report.exit_code or EXIT_INFRASTRUCTURE
    return report.exit_code


def _print_line(text: str) -> None:
    sys.stderr.write(write_progress(shorten(text, LONGEST_LINE)) + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())

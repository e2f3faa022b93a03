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
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.compare.outputs import CompareRequest
from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.codes import EXIT_INFRASTRUCTURE
from spark_jobs.contract.published import add_published
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES, Snapshot
from spark_jobs.errors import JobError, shorten
from spark_jobs.job import make_failing_rows_uri, make_failure, publish_staged, run_snapshot
from spark_jobs.progress import print_line
from spark_jobs.report import read_report, write_report
from spark_jobs.sinks.publish import needs_session
from spark_jobs.snapshot_file import read_snapshot
from spark_jobs.spark.session import START_SETTINGS, ignore_pandas, require_server
from spark_jobs.spark.storage import open_storage
from spark_jobs.submitter import require_submitter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        report = make_failure(options.sha256, options.attempt, error, None)
        print_line(f"failed: {error}")
    # Nothing is left to stop, and the report must be written.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = _deliver(report, options.report, spark)
    if spark is not None:
        spark.stop()
    return code


def _needs_session(options: argparse.Namespace, snapshot: Snapshot) -> bool:
    """Return whether Spark has to start: not where files of this machine are renamed and nothing else."""
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
        message = f"what is published, as described in {uri}, cannot be read: {failure}"
        raise JobError("INFRA_001", message, hint="check the address; the file may have been removed") from failure


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
        help="say in the report what would change for readers, whatever the project asks",
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


def _deliver(report: Report, uri: str | None, spark: SparkSession | None) -> int:
    """Write the report, or print it when no place was given; a report that cannot be written fails the job."""
    if uri is None:
        sys.stdout.write(json.dumps(report.to_dict(), ensure_ascii=False) + "\n")
        return report.exit_code
    try:
        write_report(report, uri, spark)
    except OSError as failure:
        print_line(f"failed: the report {uri} cannot be written: {failure.strerror or failure}")
        return report.exit_code or EXIT_INFRASTRUCTURE
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())

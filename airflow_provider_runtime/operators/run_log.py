"""What the log of a task says at the end of a run: what was read, done, checked and written."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from airflow_provider_runtime.core.evidence.gather import list_pins
from airflow_provider_runtime.core.registry.ports import Registration
from airflow_provider_runtime.core.rendering import escape_control
from spark_jobs.contract.checks import CheckResult, describe_result
from spark_jobs.contract.report import OperationReport, Report
from spark_jobs.contract.snapshot import Snapshot

Line = tuple[int, str]
"""Level and text."""
MOST_PINS = 12
_AS_EXPECTED = ("passed", "recorded", "no_baseline")


def describe_run(snapshot: Snapshot, report: Report, registrations: Sequence[Registration]) -> Iterator[Line]:
    """Yield the lines about a run that has succeeded, the versions of registered datasets last."""
    for level, text in _describe(snapshot, report, registrations):
        yield level, escape_control(text)


def _describe(snapshot: Snapshot, report: Report, registrations: Sequence[Registration]) -> Iterator[Line]:
    project, seconds = snapshot.project, report.timings.get("total_seconds", 0)
    rows_in = "" if report.rows_in is None else f", {report.rows_in} rows in"
    what = f"{project.name} version {project.version}, period {snapshot.period.identifier}"
    yield logging.INFO, f"{what}: {report.status} in {seconds:.1f} s{rows_in}"
    pins = list_pins(snapshot)
    for pin in pins[:MOST_PINS]:
        text = f"{pin['used_by']}: {pin['dataset']} version {pin['version']}, by {pin['resolver']}"
        yield logging.INFO, text
    if len(pins) > MOST_PINS:
        yield logging.INFO, f"and {len(pins) - MOST_PINS} more, in the snapshot"
    for operation in report.operations:
        yield logging.INFO, _describe_operation(operation)
    yield from describe_checks(report.checks)
    aim = "staged for" if report.status == "staged" else "to"
    for output in report.outputs:
        yield logging.INFO, f"output {output.seq}: {output.rows} rows {aim} {output.destination}"
    if report.status == "staged":
        yield logging.INFO, "nothing is published yet: that waits for an approval"
    for entry in registrations:
        yield logging.INFO, f"registered {entry.dataset_name} version {entry.version}"


def describe_checks(checks: Sequence[CheckResult]) -> Iterator[Line]:
    """Yield the results of the checks, and where the rows that failed them are."""
    for check in checks:
        level = logging.INFO if check.status in _AS_EXPECTED else logging.WARNING
        yield level, escape_control(describe_result(check))
        if check.failing_rows_uri is not None:
            yield level, escape_control(f"failing rows: {check.failing_rows_uri}")


def _describe_operation(operation: OperationReport) -> str:
    counted = "" if operation.rows_affected is None else f": {operation.rows_affected} rows"
    matches = [
        f"join '{join.alias}': {join.matched} with a match, {join.unmatched} without"
        for join in operation.joins
        if join.matched is not None and join.unmatched is not None
    ]
    name = f" '{operation.name}'" if operation.name else ""
    return "; ".join([f"operation {operation.seq} {operation.type}{name}{counted}", *matches])

"""What a person sees of a run: the plan before it, the summary after it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from airflow_provider_runtime.cli.check_table import TITLES as CHECK_TITLES
from airflow_provider_runtime.cli.check_table import make_row
from airflow_provider_runtime.cli.credentials import read_properties
from airflow_provider_runtime.cli.local_run import RunResult
from airflow_provider_runtime.cli.main import wants_color
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.catalog.source_text import SourceText
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
from airflow_provider_runtime.core.presence import look_for_data
from airflow_provider_runtime.core.rendering import render_problems
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.report import STEPS, name_step
from spark_jobs.contract.snapshot import DatasetPin, Snapshot

MOST_STEPS = 5


def print_result(result: RunResult, catalog: Path | None) -> None:
    """Print the summary of a run, or why it failed."""
    if not result.succeeded:
        what = f"{hide_control_characters(result.period)}: failed" if result.period else "failed"
        click.echo(f"{what}{_describe_published(result)}", err=True)
        # What was found before the job has its line, or none because that may show a secret.
        shown = [add_source_line(problem, catalog) if result.of_job else problem for problem in result.problems]
        click.echo(render_problems(shown, wants_color(sys.stderr)), err=True, color=True)
        _print_checks(result.report.get("checks") or ())
        return
    assert result.snapshot is not None
    snapshot = result.snapshot
    name, version = hide_control_characters(snapshot.project.name), snapshot.project.version
    seconds = result.report["timings"].get("total_seconds", 0)
    rows_in = "" if result.rows_in is None else f", {result.rows_in} rows in"
    status = result.report["status"]
    click.echo(f"{name} version {version}, period {result.period}: {status} in {seconds:.1f} s{rows_in}")
    _print_operations(result.report["operations"])
    print_slowest(result.report["operations"], result.report["timings"])
    _print_outputs(result.report["outputs"])
    _print_checks(result.report["checks"])
    _print_differences(result.report["differences"])
    _print_pins(snapshot)
    click.echo(hide_control_characters(f"run {result.report['run_id']}, snapshot {result.snapshot_uri}"))
    if status == "staged":
        run_id = hide_control_characters(str(result.report["run_id"]))
        click.echo(f"nothing is published yet: `airflow-runtime publish {run_id}`, or `discard`")


def print_ends(results: Sequence[RunResult]) -> None:
    """Print how each of several runs has ended, when there are several."""
    if len(results) < 2:
        return
    rows = []
    for result in results:
        report = result.report
        written = sum(output["rows"] for output in report["outputs"])
        problem = result.problems[0] if result.problems else None
        rows.append(
            (
                result.snapshot.project.name if result.snapshot is not None else result.project,
                result.period,
                report["status"],
                "" if problem is not None else written,
                report["timings"].get("total_seconds", ""),
                "" if problem is None else f"{problem.code} {problem.message}",
            )
        )
    failed = sum(not result.succeeded for result in results)
    click.echo()
    print_table(("project", "period", "status", "rows written", "seconds", "error"), rows, empty="")
    click.echo(f"{len(results) - failed} of {len(results)} succeeded" + (f", {failed} failed" if failed else ""))


def _describe_published(result: RunResult) -> str:
    if not result.cut_short:
        return ", nothing was published"
    refused = {problem.code for problem in result.problems} & {"PERIOD_002", "RUN_002"}
    return f" while it published: {'outputs may be there already' if refused else 'run it again to complete that'}"


def _print_operations(operations: Sequence[Mapping[str, Any]]) -> None:
    rows = [(op["seq"], op["type"], op["name"], op["rows_affected"], op["rows_after"]) for op in operations]
    click.echo()
    print_table(("seq", "operation", "name", "rows affected", "rows after"), rows, empty="no operations")
    joins = [
        (op["seq"], join["alias"], join["matched"], join["unmatched"])
        for op in operations
        for join in op.get("joins", ())
    ]
    if joins:
        click.echo()
        print_table(("seq", "join", "rows with a match", "without"), joins, empty="")


def print_slowest(operations: Sequence[Mapping[str, Any]], timings: Mapping[str, float]) -> None:
    """Print what took most of the time: actions with the operations that they computed, and what is around them."""
    steps = [(timings[key], what, "") for key, what in STEPS.items() if timings.get(key)]
    for op in operations:
        others = [str(other["seq"]) for other in operations if other["computed_with"] == op["seq"] != other["seq"]]
        if op["seconds"]:
            steps.append((op["seconds"], name_step(op["seq"], op["name"]), ", ".join(others)))
    steps.sort(key=lambda step: -step[0])
    rows = [(what, f"{seconds:.1f}", computed) for seconds, what, computed in steps[:MOST_STEPS]]
    if rows:
        click.echo()
        print_table(
            ("most expensive steps", "seconds", "computed on the way"),
            rows,
            empty="",
            optional=("computed on the way",),
        )


def _print_outputs(outputs: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for output in outputs:
        registered = output["registered_dataset"]
        version = output["registered_version"]
        shown = "" if registered is None else f"{registered} version {version}" if version else registered
        committed = output.get("table_version")
        destination = f"{output['destination']}, version {committed}" if committed else output["destination"]
        rows.append((output["seq"], destination, output["rows"], shown))
    if rows:
        click.echo()
        print_table(("seq", "output", "rows", "registered as"), rows, empty="")


def _print_differences(differences: Sequence[str]) -> None:
    if differences:
        click.echo("\nnot as in the earlier execution of this snapshot:")
    for difference in differences:
        click.echo(f"  {hide_control_characters(difference)}")


def _print_checks(checks: Sequence[Mapping[str, Any]]) -> None:
    if not checks:
        return
    click.echo()
    print_table(CHECK_TITLES, [make_row(check) for check in checks], empty="", optional=("difference",))
    for uri in dict.fromkeys(check["failing_rows_uri"] for check in checks if check["failing_rows_uri"]):
        click.echo(hide_control_characters(f"failing rows: {uri}"))


def _print_pins(snapshot: Snapshot) -> None:
    pins, plan = snapshot.resolver_snapshot, snapshot.plan
    # The id of a registered dataset is computed from its name, and says nothing to people.
    names = {
        table.dataset_id: plan.settings.trace[key].dataset
        for key, table in plan.tables.items()
        if key in plan.settings.trace
    }

    def name(identifier: str, resolver_id: str) -> str:
        return names.get(identifier, identifier) if resolver_id == REGISTRY_RESOLVER_ID else identifier

    shown = name(pins.input_dataset_id, pins.resolver_id)
    version = _name_version(pins.input_dataset_version, pins.table_version)
    rows = [("input", "", shown, version, pins.resolver_id)]
    used: list[tuple[str, str, DatasetPin]] = [
        *(("lookup", pin.alias, pin) for pin in pins.lookup_datasets),
        *(("join", f"operation {pin.operation_seq} {pin.alias}", pin) for pin in pins.join_datasets),
        *(("append", f"operation {pin.operation_seq}", pin) for pin in pins.append_datasets),
        *(("check", pin.check, pin) for pin in pins.check_datasets),
    ]
    for kind, user, pin in used:
        version = _name_version(pin.dataset_version, pin.table_version)
        rows.append((kind, user, name(pin.dataset_id, pin.resolver_id), version, pin.resolver_id))
    click.echo()
    print_table(("pinned", "used by", "dataset", "version", "resolver"), rows, empty="")


def _name_version(dataset: int, table: str | None) -> str:
    return f"{dataset}, table version {table}" if table else str(dataset)


def print_plan(snapshot: Snapshot, *, is_own: bool) -> None:
    """Print what a run would read, and whether it is there, what it would do and write.

    For a snapshot from elsewhere nobody is asked for whom its author might have chosen: only this machine's files.
    """
    plan, project, period = snapshot.plan, snapshot.project.name, snapshot.period.identifier
    # A snapshot from elsewhere may be called anything.
    click.echo(hide_control_characters(f"{project}, period {period}, as of {snapshot.as_of}: nothing was run"))
    _print_pins(snapshot)
    click.echo()
    looked = look_for_data(plan, _open_store if is_own else _refuse, read_properties if is_own else None)
    rows = [(found.key, found.place, found.status, found.location.on_missing) for found in looked.found]
    # A registered dataset without a slice, or a period before the calendar's first: resolving has allowed it.
    rows += [(key, "no location", "no", "empty") for key, table in plan.tables.items() if not table.locations]
    print_table(("table", "read from", "there", "if missing"), rows, empty="no tables")
    click.echo()
    operations = [
        (op.seq, op.type, op.name, op.destination.display if isinstance(op, OutputOperation) else "")
        for op in plan.operations
    ]
    print_table(("seq", "operation", "name", "writes to"), operations, empty="no operations")
    if plan.checks:
        click.echo()
        checks = [(check.name, check.output, check.kind, check.on_fail) for check in plan.checks]
        print_table(("check", "output", "kind", "if it fails"), checks, empty="no checks")
    if snapshot.overrides:
        click.echo()
        print_overrides(snapshot)


def _refuse(uri: str, reference: str | None) -> Any:
    del uri, reference
    raise LookupError("not asked for a snapshot")


def _open_store(uri: str, reference: str | None) -> Any:
    # Airflow takes a second to import; only those whose data are in an object store wait for it.
    from airflow_provider_runtime.hooks.storage import open_store

    return open_store(uri, reference)


def print_overrides(snapshot: Snapshot, *, err: bool = False) -> None:
    """Print which failing checks the run lets pass."""
    for given in snapshot.overrides:
        text = f"check '{given.check}' may fail: overridden by {given.who} at {given.at}: {given.reason}"
        click.echo(hide_control_characters(text), err=err)


def add_source_line(problem: Problem, catalog: Path | None) -> Problem:
    """Return a problem of the job with the line of YAML that it points at, where that may be shown and read."""
    place = problem.location
    if place.source_line is not None or place.file is None or catalog is None:
        return problem
    try:
        source = SourceText(place.file, (catalog / place.file).read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return problem
    return replace(problem, location=replace(place, source_line=source.show_line(place.line)))

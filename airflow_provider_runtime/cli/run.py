"""`airflow-runtime run`: runs a project for a period or several, or executes a snapshot again."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.credentials import read_credential, read_properties
from airflow_provider_runtime.cli.options import (
    catalog_option,
    period_option,
    project_option,
    registry_option,
    spark_options,
)
from airflow_provider_runtime.cli.parameters import Day, Moment
from airflow_provider_runtime.cli.registries import SLICES, SNAPSHOTS, choose_registry, require_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
    from airflow_provider_runtime.core.catalog.loader import LoadResult
    from airflow_provider_runtime.core.registry.ports import Registry
    from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What was asked for on the command line."""

    project: str
    period: str
    as_of: date | None
    timestamp: datetime | None
    sandbox: str | None
    allow_closed: bool
    keep_going: bool
    state: Path
    of_plan: bool = False
    """Whether other runs of a plan follow."""


@click.command("run")
@catalog_option
@project_option()
@period_option("A period, or the first and the last of several.", metavar="X[..Y]")
@click.option("--as-of", type=Day(), help="Day for which bitemporal tables are read. [default: the period's start]")
@click.option("--timestamp", type=Moment(), help="Timestamp of the run. [default: now]")
@registry_option()
@spark_options
@click.option("--sandbox", metavar="ID", help="Datasource that a draft project writes to. [default: sandbox]")
@click.option("--allow-closed", is_flag=True, help="Run a closed period too; a locked one never runs.")
@click.option("--snapshot", metavar="FILE", help="Execute this snapshot again instead of resolving.")
@click.option(
    "--plan", type=click.Path(path_type=Path), metavar="FILE", help="Run what this plan found missing or stale."
)
@click.option("--sha256", metavar="HEX", help="Digest that the snapshot must have.")
@click.option(
    "--verify", is_flag=True, help="With --snapshot: publish nothing if sources or rows are not those of before."
)
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write what was done to this file.")
@click.option(
    "--profile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file what Spark read, shuffled, spilled and wrote for each operation.",
)
@click.option("--dry-run", is_flag=True, help="Resolve and show what would be done; no Spark, nothing is written.")
@click.option("--stage-only", is_flag=True, help="Publish nothing: keep what is staged for `publish` or `discard`.")
@click.option(
    "--keep",
    metavar="DAYS",
    type=click.FloatRange(min=0, min_open=True, max=3650),
    help="How long what is staged is kept. [default: 7]",
)
@click.option("--keep-going", is_flag=True, help="With several periods: go on after one that failed.")
@click.pass_context
def command(
    context: click.Context,
    catalog: Path,
    project: str | None,
    period: str | None,
    as_of: date | None,
    timestamp: datetime | None,
    registry: str | None,
    master: str,
    conf: tuple[tuple[str, str], ...],
    sandbox: str | None,
    allow_closed: bool,
    snapshot: str | None,
    plan: Path | None,
    sha256: str | None,
    verify: bool,
    report: Path | None,
    profile: Path | None,
    dry_run: bool,
    stage_only: bool,
    keep: float | None,
    keep_going: bool,
) -> None:
    """Resolve, execute on Spark, publish and register.

    \b
    Examples:
      airflow-runtime run --project fx-conversion --period 2026-01
      airflow-runtime run --project fx-conversion --period 2026-01..2026-12 --keep-going
      airflow-runtime run --snapshot .runtime/snapshots/<sha256>.json
      airflow-runtime run --plan plan.json
    """
    if plan is not None and (snapshot or project or period or as_of or timestamp or sandbox or dry_run):
        raise click.UsageError("--plan says what to run; leave the options that choose it out")
    if snapshot is None and plan is None and (project is None or period is None):
        raise click.UsageError("give --project and --period, --snapshot or --plan")
    if snapshot is not None and (project is not None or period is not None):
        raise click.UsageError("--snapshot says which project and period; leave --project and --period out")
    if sha256 is not None and snapshot is None:
        raise click.UsageError("--sha256 belongs to --snapshot")
    if verify and snapshot is None:
        raise click.UsageError("--verify belongs to --snapshot")
    settled = [
        name for name, value in (("--as-of", as_of), ("--timestamp", timestamp), ("--sandbox", sandbox)) if value
    ]
    if snapshot is not None and settled:
        raise click.UsageError(f"--snapshot has settled that already; leave {settled[0]} out")
    if profile is not None and (dry_run or master.startswith(("sc://", "warm"))):
        raise click.UsageError("--profile needs a Spark that runs in this process: no --dry-run, no sc://, not warm")
    if snapshot is None:
        require_catalog(catalog)
    for option, file in (("--report", report), ("--profile", profile)):
        if file is not None and not dry_run:
            prepare_report(file, option)
    from airflow_provider_runtime.cli.local_run import LocalRunner

    choice = choose_registry(registry, catalog, snapshot)
    opened = choice.open_to_read() if dry_run else choice.open()

    def start() -> SparkSession:
        return start_session(master, dict(conf), is_small=runner.is_small)

    runner = LocalRunner(opened, start, print_progress, allow_closed, report, verify, stage_only)
    if keep is not None:
        runner.keep_seconds = keep * 86400
    if profile is not None:
        runner.profiles = []
    try:
        if snapshot is not None:
            if dry_run:
                _show_snapshot(opened, snapshot, sha256)
                return
            runner.runs = 1
            results = _run_snapshot(runner, opened, snapshot, sha256, _find_catalog(context, catalog))
        elif plan is not None:
            from airflow_provider_runtime.cli.planned_run import run_plan

            def run_one(name: str, found: str) -> RunResult:
                request = RunRequest(
                    name, found, None, None, None, allow_closed, keep_going, choice.state, of_plan=True
                )
                return _run_periods(runner, catalog, request, opened)[0]

            results = run_plan(plan, catalog, opened, choice.snapshots, run_one, keep_going=keep_going)
        else:
            assert project is not None
            assert period is not None
            request = RunRequest(project, period, as_of, timestamp, sandbox, allow_closed, keep_going, choice.state)
            if dry_run:
                _show_plans(catalog, request, opened)
                return
            results = _run_periods(runner, catalog, request, opened)
    finally:
        runner.stop()
        opened.close()
    from airflow_provider_runtime.cli.run_summary import print_ends

    print_ends(results)
    several = plan is not None or (period is not None and ".." in period)
    if report is not None:
        write_report(report, [result.report for result in results], several=several)
    if profile is not None and runner.profiles:
        write_report(profile, runner.profiles, several=several)
    context.exit(0 if all(result.succeeded for result in results) else 1)


def start_session(master: str, conf: dict[str, str], *, is_small: bool = False) -> SparkSession:
    """Start Spark in this process, with its progress bar on a terminal."""
    from airflow_provider_runtime.cli.local_spark import start_spark

    if sys.stderr.isatty():
        conf = {"spark.ui.showConsoleProgress": "true", **conf}
    return start_spark(master, conf, is_small=is_small)


def print_progress(line: str) -> None:
    """Print a line of progress."""
    click.echo(line, err=True)


def _list_periods(loaded: LoadResult, request: RunRequest) -> tuple[str, ...]:
    from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods

    definition = loaded.catalog.find_project(request.project)
    if ".." not in request.period or definition is None:
        # Resolving says what is wrong with an unknown project or period.
        return (request.period,)
    index = get_project_periods(loaded.catalog, definition)
    return tuple(found.identifier for found in index.list_range(request.period, definition.model.level))


def _resolve(catalog: LoadResult, request: RunRequest, period: str, registry: Registry) -> Snapshot:
    from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot

    options = ResolveOptions(
        as_of=request.as_of,
        run_timestamp=request.timestamp,
        sandbox=request.sandbox,
        slice_store=str(request.state / SLICES),
        allow_closed=request.allow_closed,
    )
    return build_snapshot(
        catalog,
        request.project,
        period,
        options,
        registry=registry,
        read_credential=read_credential,
        read_properties=read_properties,
    )


def _load(catalog: Path, project: str) -> LoadResult:
    from airflow_provider_runtime.core.catalog.loader import load_catalog

    return load_catalog(catalog, project=project)


def _run_periods(runner: LocalRunner, catalog: Path, request: RunRequest, registry: Registry) -> list[RunResult]:
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError
    from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
    from airflow_provider_runtime.core.private_folders import make_private_folder
    from airflow_provider_runtime.core.suggest import list_names

    make_private_folder(request.state / SLICES)
    try:
        loaded = _load(catalog, request.project)
        periods = _list_periods(loaded, request)
    except RuntimeProviderError as error:
        result = make_failed_result(request.period, error)
        print_result(result, catalog)
        return [result]
    results: list[RunResult] = []
    if not request.of_plan:
        runner.runs = len(periods)
    for period in periods:
        snapshot = None
        try:
            snapshot = _resolve(loaded, request, period, registry)
            uri = write_snapshot(snapshot, str(request.state / SNAPSHOTS))
            result = runner.execute(snapshot, uri)
        except RuntimeProviderError as error:
            result = make_failed_result(period, error, snapshot)
        print_result(result, catalog)
        results.append(result)
        if not result.succeeded and not request.keep_going:
            break
    if len(results) < len(periods):
        left = periods[len(results) :]
        click.echo(f"stopped: {len(left)} periods were not run ({list_names(left)})", err=True)
    return results


def _find_catalog(context: click.Context, catalog: Path) -> Path | None:
    """Return the catalog that is at hand: a snapshot needs none, so that the default may be missing."""
    is_default = context.get_parameter_source("catalog") is click.core.ParameterSource.DEFAULT
    return None if is_default and not catalog.is_dir() else catalog


def _check_calendar(catalog: Path, snapshot: Snapshot, *, allow_closed: bool) -> None:
    """Raise PERIOD_002 when the calendar's file has closed or locked the period since the snapshot was made."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.errors import raise_problems
    from airflow_provider_runtime.core.planning.snapshot.later_run import list_problems_since

    loaded, name = load_catalog(catalog), snapshot.plan.settings.calendar
    if loaded.catalog.find_calendar(name) is None and (
        not catalog.is_dir() or loaded.catalog.is_broken("calendar", name)
    ):
        raise_problems(loaded.problems)
    raise_problems(list_problems_since(loaded.catalog, snapshot, allow_closed=allow_closed))


def _run_snapshot(
    runner: LocalRunner, registry: Registry, uri: str, sha256: str | None, catalog: Path | None
) -> list[RunResult]:
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError

    snapshot = None
    try:
        snapshot = _read_snapshot(registry, uri, sha256)
        if catalog is not None:
            _check_calendar(catalog, snapshot, allow_closed=runner.allow_closed)
        result = runner.execute(snapshot, uri)
    except RuntimeProviderError as error:
        result = make_failed_result(snapshot.period.identifier if snapshot else "", error, snapshot)
    print_result(result, None)
    return [result]


def _read_snapshot(registry: Registry, uri: str, sha256: str | None) -> Snapshot:
    from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot

    return read_snapshot(uri, sha256, is_known=lambda digest: registry.find_run(digest) is not None)


def _show_snapshot(registry: Registry, uri: str, sha256: str | None) -> None:
    from airflow_provider_runtime.cli.run_summary import print_plan

    print_plan(_read_snapshot(registry, uri, sha256))


def _show_plans(catalog: Path, request: RunRequest, registry: Registry) -> None:
    from airflow_provider_runtime.cli.run_summary import print_plan

    loaded = _load(catalog, request.project)
    for period in _list_periods(loaded, request):
        print_plan(_resolve(loaded, request, period, registry))


def write_report(path: Path, reports: list[dict[str, object]], *, several: bool) -> None:
    """Write the report, or the list of reports, as a whole or not at all."""
    from spark_jobs.spark.storage import LocalStorage

    document = reports if several else reports[0]
    LocalStorage().write_bytes(str(path.absolute()), (json.dumps(document, indent=2) + "\n").encode())


def prepare_report(path: Path, option: str = "--report") -> None:
    """Find out before a run, not after it, that a file that it is to write has no place to go to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise click.UsageError(f"the folder of {option} cannot be made: {failure.strerror}") from None
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.UsageError(f"{option} cannot be written there")

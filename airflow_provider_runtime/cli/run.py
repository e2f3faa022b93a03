"""`airflow-runtime run`: runs a project for a period or several, or executes a snapshot again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    period_option,
    project_option,
    registry_option,
    spark_options,
)
from airflow_provider_runtime.cli.parameters import Day, RunTimestamp
from airflow_provider_runtime.cli.registries import RegistryChoice, choose_registry, require_catalog
from airflow_provider_runtime.cli.report_files import prepare_report, write_report
from airflow_provider_runtime.cli.requested_runs import (
    RunRequest,
    run_entry,
    run_periods,
    run_snapshot,
    show_plans,
    show_snapshot,
)
from airflow_provider_runtime.cli.sessions import print_progress, require_session, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
    from airflow_provider_runtime.core.registry.ports import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What was given on the command line."""

    catalog: Path
    project: str | None
    period: str | None
    as_of: date | None
    timestamp: datetime | None
    registry: str | None
    master: str
    conf: tuple[tuple[str, str], ...]
    sandbox: str | None
    allow_closed: bool
    snapshot: str | None
    plan: Path | None
    sha256: str | None
    verify: bool
    report: Path | None
    profile: Path | None
    dry_run: bool
    stage_only: bool
    keep: float | None
    keep_going: bool

    @property
    def names_several(self) -> bool:
        """Whether there may be several runs, and files hold a list of them."""
        return self.plan is not None or (self.period is not None and ".." in self.period)

    def make_request(self, state: Path) -> RunRequest:
        """Return the project and the periods that are asked for."""
        assert self.project is not None
        assert self.period is not None
        return RunRequest(
            self.project,
            self.period,
            self.as_of,
            self.timestamp,
            self.sandbox,
            self.allow_closed,
            self.keep_going,
            state,
        )


@click.command("run")
@catalog_option
@project_option()
@period_option("A period, or the first and the last of several.", metavar="X[..Y]")
@click.option("--as-of", type=Day(), help="Day for which bitemporal tables are read. [default: the period's start]")
@click.option("--timestamp", type=RunTimestamp(), help="Timestamp of the run. [default: now]")
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
def command(context: click.Context, /, **given: Any) -> None:
    """Resolve, execute on Spark, publish and register.

    \b
    Examples:
      airflow-runtime run --project fx-conversion --period 2026-01
      airflow-runtime run --project fx-conversion --period 2026-01..2026-12 --keep-going
      airflow-runtime run --snapshot .runtime/snapshots/<sha256>.json
      airflow-runtime run --plan plan.json
    """
    options = RunOptions(**given)
    for message in _find_misuses(options):
        raise click.UsageError(message)
    if options.snapshot is None:
        require_catalog(options.catalog)
    for option, file in (("--report", options.report), ("--profile", options.profile)):
        if file is not None and not options.dry_run:
            prepare_report(file, option)
    choice = choose_registry(options.registry, options.catalog, options.snapshot)
    if options.dry_run:
        with contextlib.closing(choice.open_to_read()) as opened:
            _show(options, choice, opened)
        return
    with contextlib.closing(choice.open()) as opened:
        runner = _make_runner(options, opened)
        try:
            results = _run(options, choice, runner, opened, find_catalog(context, options.catalog))
        finally:
            runner.stop()
    from airflow_provider_runtime.cli.run_summary import print_ends

    print_ends(results)
    if options.report is not None:
        write_report(options.report, [result.report for result in results], several=options.names_several)
    if options.profile is not None and runner.profiles:
        write_report(options.profile, runner.profiles, several=options.names_several)
    context.exit(0 if all(result.succeeded for result in results) else 1)


def _find_misuses(options: RunOptions) -> Iterator[str]:
    """Yield what does not go together."""
    chosen = (options.snapshot, options.project, options.period, options.as_of, options.timestamp, options.sandbox)
    if options.plan is not None and (any(chosen) or options.dry_run):
        yield "--plan says what to run; leave the options that choose it out"
    if options.snapshot is None and options.plan is None and (options.project is None or options.period is None):
        yield "give --project and --period, --snapshot or --plan"
    if options.snapshot is not None and (options.project is not None or options.period is not None):
        yield "--snapshot says which project and period; leave --project and --period out"
    if options.sha256 is not None and options.snapshot is None:
        yield "--sha256 belongs to --snapshot"
    if options.verify and options.snapshot is None:
        yield "--verify belongs to --snapshot"
    settled = {"--as-of": options.as_of, "--timestamp": options.timestamp, "--sandbox": options.sandbox}
    if options.snapshot is not None and any(settled.values()):
        yield f"--snapshot has settled that already; leave {next(filter(settled.get, settled))} out"
    if options.profile is not None and (options.dry_run or options.master.startswith(("sc://", "warm"))):
        yield "--profile needs a Spark that runs in this process: no --dry-run, no sc://, not warm"


def _make_runner(options: RunOptions, opened: Registry) -> LocalRunner:
    from airflow_provider_runtime.cli.local_run import LocalRunner

    def start() -> SparkSession:
        return start_session(options.master, dict(options.conf), is_small=runner.is_small)

    runner = LocalRunner(
        opened, start, print_progress, options.allow_closed, options.report, options.verify, options.stage_only
    )
    runner.require_spark = lambda: require_session(options.master)
    if options.keep is not None:
        runner.keep_seconds = options.keep * 86400
    if options.profile is not None:
        runner.profiles = []
    return runner


def _show(options: RunOptions, choice: RegistryChoice, opened: Registry) -> None:
    if options.snapshot is not None:
        show_snapshot(opened, options.snapshot, options.sha256)
    else:
        show_plans(options.catalog, options.make_request(choice.state), opened)


def _run(
    options: RunOptions, choice: RegistryChoice, runner: LocalRunner, opened: Registry, catalog: Path | None
) -> list[RunResult]:
    if options.snapshot is not None:
        runner.runs = 1
        return run_snapshot(runner, opened, options.snapshot, options.sha256, catalog)
    if options.plan is None:
        return run_periods(runner, options.catalog, options.make_request(choice.state), opened)
    from airflow_provider_runtime.cli.planned_run import run_plan

    def run_one(project: str, period: str) -> RunResult:
        request = RunRequest(project, period, None, None, None, options.allow_closed, options.keep_going, choice.state)
        return run_entry(runner, options.catalog, request, opened)

    return run_plan(options.plan, options.catalog, opened, choice.snapshots, run_one, keep_going=options.keep_going)


def find_catalog(context: click.Context, catalog: Path) -> Path | None:
    """Return the catalog that is at hand: a snapshot needs none, so that the default may be missing."""
    is_default = context.get_parameter_source("catalog") is click.core.ParameterSource.DEFAULT
    return None if is_default and not catalog.is_dir() else catalog

"""`airflow-runtime diff`: what would change for readers if a run were published."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.completion import complete_staged_runs
from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    period_option,
    print_json,
    project_option,
    registry_option,
    spark_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.core.registry.ports import Registry
    from spark_jobs.compare.outputs import CompareRequest
    from spark_jobs.contract.comparison import Comparison
    from spark_jobs.contract.snapshot import Snapshot

DIFFERS = 3


@click.command("diff")
@click.argument("run_id", required=False, shell_complete=complete_staged_runs)
@catalog_option
@project_option()
@period_option("The period.")
@registry_option()
@click.option("--key", metavar="COLUMN,…", help="Columns that say which row is which. [default: the outputs' keys]")
@click.option("--rows", type=click.IntRange(0, 1000), default=10, show_default=True, help="Sample rows of each output.")
@click.option("--exit-code", is_flag=True, help="Exit with 3 when anything differs.")
@spark_options
@format_option("text", "json", "html")
@click.pass_context
def command(
    context: click.Context,
    run_id: str | None,
    catalog: Path,
    project: str | None,
    period: str | None,
    registry: str | None,
    key: str | None,
    rows: int,
    exit_code: bool,
    master: str,
    conf: tuple[tuple[str, str], ...],
    output_format: str,
) -> None:
    """Compare what a run would publish with what is published: of a staged run, or of one made for this.

    \b
    Examples:
      airflow-runtime diff --project fx-conversion --period 2026-01
      airflow-runtime diff RUN_ID --format html > diff.html
    """
    if (run_id is None) == (project is None or period is None) or (run_id and (project or period)):
        raise click.UsageError("give the id of a staged run, or --project and --period")
    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.cli.sessions import print_progress, start_session
    from spark_jobs.compare.outputs import CompareRequest

    columns = None if key is None else tuple(name.strip() for name in key.split(",") if name.strip())
    if columns == ():
        raise click.UsageError("--key names no column")
    request = CompareRequest(columns, rows)

    def make_runner(opened: Registry) -> LocalRunner:
        return LocalRunner(opened, lambda: start_session(master, dict(conf)), print_progress)

    if run_id is not None:
        title, comparison = _compare_staged(make_runner, run_id, registry, catalog, request)
    else:
        assert project is not None
        assert period is not None
        title = f"{project}, {period}"
        comparison = _compare_new(make_runner, registry, catalog, project, period, request)
    _print(comparison, output_format, title)
    context.exit(DIFFERS if exit_code and comparison.differs else 0)


def _compare_staged(
    make_runner: Callable[[Registry], LocalRunner],
    run_id: str,
    registry: str | None,
    catalog: Path,
    request: CompareRequest,
) -> tuple[str, Comparison]:
    from airflow_provider_runtime.cli.staged_runs import open_staged_run

    with open_staged_run(run_id, registry, catalog) as found:
        check_key(found.snapshot, request)
        runner = make_runner(found.registry)
        try:
            comparison = runner.compare_staged(found.snapshot, found.record, request)
        finally:
            runner.stop()
    return f"{found.record.project_name}, {found.record.period}", comparison


def _compare_new(
    make_runner: Callable[[Registry], LocalRunner],
    registry: str | None,
    catalog: Path,
    project: str,
    period: str,
    request: CompareRequest,
) -> Comparison:
    from airflow_provider_runtime.cli.registries import choose_registry, require_catalog

    require_catalog(catalog)
    choice = choose_registry(registry, catalog)
    opened = choice.open()
    runner = make_runner(opened)
    try:
        return stage_and_compare(runner, opened, catalog, choice.state, project, period, request)
    finally:
        runner.stop()
        opened.close()


def check_key(snapshot: Snapshot, request: CompareRequest) -> None:
    """Raise a usage error for a key that is asked for and that no output has."""
    outputs = [[column.name for column in output.columns] for output in snapshot.plan.outputs]
    if request.key is None or any(set(request.key) <= set(names) for names in outputs):
        return
    from airflow_provider_runtime.core.suggest import suggest

    known = list(dict.fromkeys(name for names in outputs for name in names))
    missing = next((name for name in request.key if name not in known), None)
    if missing is None:
        raise click.UsageError(f"no output has all of the columns {', '.join(request.key)}")
    raise click.UsageError(f"no output has the column '{missing}' of --key; {suggest(missing, known)}")


def stage_and_compare(
    runner: LocalRunner,
    registry: Registry,
    catalog: Path,
    state: Path,
    project: str,
    period: str,
    request: CompareRequest,
) -> Comparison:
    """Stage a run, compare it, and discard it; another run that is staged for the period stays as it is."""
    from airflow_provider_runtime.cli.credentials import read_credential
    from airflow_provider_runtime.cli.people import find_user
    from airflow_provider_runtime.cli.registries import SLICES, SNAPSHOTS
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.errors import PlanError, Problem, get_error_class
    from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
    from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
    from spark_jobs.contract.comparison import Comparison
    from spark_jobs.contract.documents import read_document

    loaded = load_catalog(catalog, project=project)
    options = ResolveOptions(slice_store=str(state / SLICES))
    snapshot = build_snapshot(loaded, project, period, options, registry=registry, read_credential=read_credential)
    check_key(snapshot, request)
    runs = registry.list_runs(project=snapshot.project.id, period=snapshot.period.identifier)
    staged = next((run for run in runs if run.is_waiting(datetime.now(UTC))), None)
    if staged is not None:
        message = f"run {staged.run_id} is staged for {period} and waits for a decision"
        hint = f"compare it: airflow-runtime diff {staged.run_id}; or publish or discard it first"
        raise PlanError(Problem("PLAN_001", message, hint))
    uri = write_snapshot(snapshot, str(state / SNAPSHOTS))
    runner.stage_only, runner.compare = True, request
    result = runner.execute(snapshot, uri)
    if not result.succeeded:
        raise get_error_class(result.problems[0].code)(result.problems)
    record = registry.find_run(snapshot.run_id)
    assert record is not None
    found = (record.report or {}).get("comparison")
    registry.discard_staged(record.run_id, who=find_user(), reason="it was made for a comparison")
    runner.remove_staged(snapshot, record)
    return read_document(Comparison, found)


def _print(comparison: Comparison, output_format: str, title: str) -> None:
    import sys
    from dataclasses import asdict

    from airflow_provider_runtime.cli.main import wants_color
    from airflow_provider_runtime.core.evidence.comparison import render_comparison, render_comparison_page

    if output_format == "json":
        print_json(asdict(comparison))
    elif output_format == "html":
        click.echo(render_comparison_page(comparison, title))
    else:
        click.echo(title)
        click.echo(render_comparison(comparison, color=wants_color(sys.stdout)), color=True)

"""`airflow-runtime why`: the history of a row of the working dataset."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.completion import complete_runs
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
    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.core.evidence.why import Question
    from airflow_provider_runtime.core.runs.published import FoundRun
    from spark_jobs.contract.snapshot import Snapshot
    from spark_jobs.contract.why import History


@click.command("why")
@catalog_option
@project_option(required=True)
@period_option("The period.", required=True)
@click.option(
    "--run",
    "run_id",
    metavar="RUN_ID",
    shell_complete=complete_runs,
    help="An older or a staged run. [default: what is published]",
)
@click.option("--output", "output", metavar="SEQ", type=int, help="Only rows that this output picks.")
@click.option("--where", metavar="EXPR", help="The rows: a condition over the columns of the working dataset.")
@click.option("--row-id", metavar="ID", help="The row: its _row_id.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="The most rows that are shown."
)
@registry_option()
@spark_options
@format_option("text", "json")
def command(
    catalog: Path,
    project: str,
    period: str,
    run_id: str | None,
    output: int | None,
    where: str | None,
    row_id: str | None,
    limit: int,
    registry: str | None,
    master: str,
    conf: tuple[tuple[str, str], ...],
    output_format: str,
) -> None:
    """Tell why a row is what it is: where it came from, and what each operation did with it.

    \b
    Examples:
      airflow-runtime why --project fx-conversion --period 2026-01 --where 'journal_id = "JE-001"'
      airflow-runtime why --project fx-conversion --period 2026-01 --row-id 019c16c9-e400-7000-8000-000000000001
    """
    if (where is None) == (row_id is None):
        raise click.UsageError("say which rows: --where 'a condition', or --row-id ID")
    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.cli.main import wants_color
    from airflow_provider_runtime.cli.registries import choose_registry
    from airflow_provider_runtime.cli.sessions import print_progress, start_session
    from airflow_provider_runtime.core.evidence.row_story import write_history
    from airflow_provider_runtime.core.evidence.why import Question, history_to_json
    from airflow_provider_runtime.core.runs.published import find_reported_run

    choice = choose_registry(registry, catalog)
    opened = choice.open_to_read()
    runner = LocalRunner(opened, lambda: start_session(master, dict(conf)), print_progress)
    try:
        found = find_reported_run(opened, project, period, run_id)
        snapshot = choice.snapshots.read(found.record)
        history = ask(runner, found, snapshot, Question(where, row_id, output, limit))
    finally:
        runner.stop()
        opened.close()
    if output_format == "json":
        print_json(history_to_json(history))
    else:
        click.echo(write_history(snapshot, found, history, color=wants_color(sys.stdout)), color=True)


def ask(runner: LocalRunner, found: FoundRun, snapshot: Snapshot, question: Question) -> History:
    """Return the histories of the rows that are meant; DATA_001 when there are none."""
    from airflow_provider_runtime.core.errors import DataError, Problem
    from airflow_provider_runtime.core.evidence.why import describe_history, make_request
    from spark_jobs.why import ReportedRun

    request = make_request(snapshot, question)
    run = ReportedRun(found.report, found.record.started_at, found.replaced_by is not None)
    history = describe_history(snapshot, runner.explain_rows(snapshot, run, request))
    if not history.rows:
        asked = question.where or f"the _row_id {question.row_id}"
        message = f"{found.record.project_name}, {found.record.period}, has no such row: {asked}"
        hint = "rows are looked for as they are after the last operation; with --output, as that output picks them"
        raise DataError(Problem("DATA_001", message, hint))
    return history

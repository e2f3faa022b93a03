"""`airflow-runtime discard`: gives up what a run has staged."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_runtime.cli.completion import complete_staged_runs
from airflow_provider_runtime.cli.options import catalog_option, registry_option, spark_options
from airflow_provider_runtime.cli.sessions import print_progress, start_session


@click.command("discard")
@click.argument("run_id", shell_complete=complete_staged_runs)
@catalog_option
@registry_option()
@click.option("--comment", metavar="TEXT", default="", help="Why.")
@click.option("--as", "claimed_name", metavar="NAME", help="Refuse under this name; needs AIRFLOW_RUNTIME_ALLOW_AS=1.")
@spark_options
def command(
    run_id: str,
    catalog: Path,
    registry: str | None,
    comment: str,
    claimed_name: str | None,
    master: str,
    conf: tuple[tuple[str, str], ...],
) -> None:
    """Discard what the run RUN_ID has staged; nothing that is published changes.

    \b
    Example:
      airflow-runtime discard RUN_ID --comment "the rates are last month's"
    """
    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.cli.people import find_person
    from airflow_provider_runtime.cli.staged_runs import open_staged_run
    from airflow_provider_runtime.core.runs.approval import refuse_run

    with open_staged_run(run_id, registry, catalog) as found:
        person = find_person(claimed_name)
        runner = LocalRunner(found.registry, lambda: start_session(master, dict(conf)), print_progress)
        try:
            record = refuse_run(found.registry, found.record, person, comment)
            runner.remove_staged(found.snapshot, found.record)
        finally:
            runner.stop()
    click.echo(f"{record.project_name}, period {record.period}: what run {record.run_id} has staged is discarded")

"""`airflow-runtime publish`: publishes what a run has staged, without computing it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.completion import complete_staged_runs
from airflow_provider_runtime.cli.options import catalog_option, registry_option, spark_options
from airflow_provider_runtime.cli.report_files import prepare_report, write_report
from airflow_provider_runtime.cli.sessions import print_progress, start_session

if TYPE_CHECKING:
    from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
    from airflow_provider_runtime.cli.staged_runs import StagedRun
    from airflow_provider_runtime.core.runs.approval import Person


@click.command("publish")
@click.argument("run_id", shell_complete=complete_staged_runs)
@catalog_option
@registry_option()
@click.option("--comment", metavar="TEXT", default="", help="Reason; required where the project needs an approval.")
@click.option("--as", "claimed_name", metavar="NAME", help="Approve under this name; needs AIRFLOW_RUNTIME_ALLOW_AS=1.")
@spark_options
@click.option("--allow-closed", is_flag=True, help="Publish into a closed period too; a locked one stays as it is.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write what was done to this file.")
@click.pass_context
def command(
    context: click.Context,
    run_id: str,
    catalog: Path,
    registry: str | None,
    comment: str,
    claimed_name: str | None,
    master: str,
    conf: tuple[tuple[str, str], ...],
    allow_closed: bool,
    report: Path | None,
) -> None:
    """Publish what the run RUN_ID has staged.

    \b
    Examples:
      airflow-runtime run --project fx-conversion --period 2026-01 --stage-only
      airflow-runtime publish RUN_ID --comment "totals agree with the ledger"
    """
    from airflow_provider_runtime.cli.local_run import LocalRunner
    from airflow_provider_runtime.cli.people import find_person
    from airflow_provider_runtime.cli.run import find_catalog
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.cli.staged_runs import open_staged_run

    if report is not None:
        prepare_report(report)
    with open_staged_run(run_id, registry, catalog) as found:
        runner = LocalRunner(found.registry, lambda: start_session(master, dict(conf)), print_progress, allow_closed)
        result = _publish(runner, found, find_catalog(context, catalog), find_person(claimed_name), comment)
    print_result(result, None)
    if report is not None:
        write_report(report, [result.report], several=False)
    context.exit(0 if result.succeeded else 1)


def _publish(runner: LocalRunner, found: StagedRun, catalog: Path | None, person: Person, comment: str) -> RunResult:
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.requested_runs import check_calendar
    from airflow_provider_runtime.core.errors import RuntimeProviderError
    from airflow_provider_runtime.core.runs.approval import approve_run, check_approver, require_comment

    settings = found.snapshot.plan.settings.publication
    try:
        if catalog is not None:
            check_calendar(catalog, found.snapshot, allow_closed=runner.allow_closed)
        if settings.needs_approval:
            check_approver(settings, found.record, person)
            require_comment(found.record, comment)
            if found.record.staged_until is not None:
                approve_run(found.registry, settings, found.record, person, comment)
        return runner.publish(found.snapshot, found.snapshot_uri)
    except RuntimeProviderError as error:
        return make_failed_result(found.record.period, error, found.snapshot)
    finally:
        runner.stop()

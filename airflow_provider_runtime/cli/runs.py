"""The command `airflow-runtime runs`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from airflow_provider_runtime.cli.options import catalog_option, format_option, print_json, registry_option
from airflow_provider_runtime.cli.people import find_user
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.registry.ports import RunRecord


@click.command("runs")
@catalog_option
@registry_option()
@click.option("--project", metavar="P", help="Only runs of this project (id or name).")
@click.option("--period", metavar="X", help="Only runs for this period.")
@click.option(
    "--release",
    nargs=2,
    metavar="PROJECT PERIOD",
    help="Let the next attempt pass one that stands in the way (RUN_002, RUN_001).",
)
@click.option("--reason", metavar="TEXT", help="Why; asked for with --release.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, the latest first.")
@format_option("text", "json")
def command(
    catalog: Path,
    registry: str | None,
    project: str | None,
    period: str | None,
    release: tuple[str, str] | None,
    reason: str | None,
    limit: int | None,
    output_format: str,
) -> None:
    """List the runs that the registry knows, the latest first.

    \b
    Examples:
      airflow-runtime runs --project fx-conversion --period 2026-01
      airflow-runtime runs --release fx-conversion 2026-01 --reason "the clock of a worker ran ahead"
    """
    if release is not None and not (reason or "").strip():
        raise click.UsageError("a release needs --reason TEXT")
    if reason is not None and release is None:
        raise click.UsageError("--reason belongs to --release")
    opened = choose_registry(registry, catalog).open_to_read()
    if release is not None:
        released = opened.release(*release, who=find_user(), reason=(reason or "").strip())
        click.echo(f"released: the next attempt of {release[0]} for {release[1]} passes {released.token}", err=True)
    records = opened.list_runs(project=project, period=period, limit=limit)
    if output_format == "json":
        print_json([describe_run(record) for record in records])
        return
    titles = ("project", "period", "status", "attempt", "started (UTC)", "seconds", "rows in", "snapshot", "error")
    empty = "no such runs" if project or period else "no runs yet"
    rows = [_make_row(record) for record in records]
    print_table(titles, rows, empty=empty, optional=("attempt", "snapshot", "rows in"))


def describe_run(record: RunRecord) -> dict[str, object]:
    """Return a run as JSON shows it."""
    return {
        "run_id": record.run_id,
        "project_id": record.project_id,
        "project": record.project_name,
        "project_version": record.project_version,
        "calendar": record.calendar,
        "period": record.period,
        "level": record.level,
        "status": record.status,
        "attempt": record.attempt,
        "token": record.token,
        "snapshot_sha256": record.snapshot_sha256,
        "snapshot_uri": record.snapshot_uri,
        "started_at": _show(record.started_at),
        "finished_at": _show(record.finished_at),
        "published_at": _show(record.published_at),
        "rows_in": record.rows_in,
        "report": record.report,
        "error": record.error,
    }


def _make_row(record: RunRecord) -> tuple[object, ...]:
    seconds = (record.finished_at - record.started_at).total_seconds() if record.finished_at else None
    error = f"{record.error.get('code')}: {record.error.get('message')}" if record.error else None
    return (
        f"{record.project_name} v{record.project_version}",
        record.period,
        record.status,
        record.attempt,
        record.started_at,
        None if seconds is None else f"{seconds:.1f}",
        record.rows_in,
        record.snapshot_sha256[:12],
        error,
    )


def _show(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()

"""The command `airflow-runtime runs`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    period_option,
    print_json,
    project_option,
    registry_option,
)
from airflow_provider_runtime.cli.people import find_user
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.registry.ports import Publication, RunRecord
from airflow_provider_runtime.core.suggest import list_names

PUBLICATION_TITLES = ("number", "published (UTC)", "run", "rows", "totals")


@click.command("runs")
@catalog_option
@registry_option()
@project_option()
@period_option("Only runs for this period.")
@click.option(
    "--release",
    nargs=2,
    metavar="PROJECT PERIOD",
    help="Let the next attempt pass one that blocks it (RUN_002, RUN_001).",
)
@click.option("--reason", metavar="TEXT", help="Reason; required with --release.")
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
    """List the runs that the registry knows, the latest first; of one period also what was published, with totals.

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
    published: list[Publication] = []
    if project is not None and period is not None:
        published = opened.list_publications(project, period)
    if output_format == "json":
        print_json([_describe(record, published) for record in records])
        return
    titles = ("project", "period", "status", "run", "attempt", "started (UTC)", "seconds", "rows in", "error")
    empty = "no such runs" if project or period else "no runs yet"
    rows = [_make_row(record) for record in records]
    print_table(titles, rows, empty=empty, optional=("attempt", "rows in", "seconds", "started (UTC)"))
    if published:
        click.echo("\npublications, the latest first")
        print_table(PUBLICATION_TITLES, [_make_publication_row(found) for found in published], empty="")


def _describe(record: RunRecord, published: Sequence[Publication]) -> dict[str, object]:
    from airflow_provider_runtime.core.evidence.history import describe_publication

    own = [describe_publication(found) for found in published if found.run_id == record.run_id]
    return {**describe_run(record), **({"publications": own} if own else {})}


def _make_publication_row(publication: Publication) -> tuple[object, ...]:
    from airflow_provider_runtime.core.evidence.history import describe_publication

    found = describe_publication(publication)
    rows = ", ".join(f"{output['rows']} to {output['destination']}" for output in found["outputs"])
    totals = [
        f"{' '.join(map(str, (total['name'], *total.get('key', {}).values())))} {total['value']}"
        for total in found["totals"]
    ]
    return found["number"], publication.published_at, publication.run_id, rows, list_names(totals)


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
        record.run_id,
        record.attempt,
        record.started_at,
        None if seconds is None else f"{seconds:.1f}",
        record.rows_in,
        error,
    )


def _show(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()

"""`airflow-runtime resolve`: the snapshot of a run, without Spark."""

from __future__ import annotations

import sys
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.credentials import read_credential, read_properties
from airflow_provider_runtime.cli.options import catalog_option, period_option, project_option, registry_option
from airflow_provider_runtime.cli.parameters import Day, RunTimestamp
from airflow_provider_runtime.cli.registries import SLICES, RegistryChoice, choose_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_runtime.core.errors import Problem
    from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions
    from spark_jobs.contract.snapshot import Snapshot


@click.command("resolve")
@catalog_option
@project_option(required=True)
@period_option("Identifier of a period of the project's level.", required=True)
@click.option("--as-of", type=Day(), help="Day that bitemporal tables are read as of. [default: period start]")
@registry_option()
@click.option("--timestamp", type=RunTimestamp(), help="Timestamp of the run: what NOW() is. [default: now]")
@click.option("--sandbox", metavar="ID", help="Datasource that a draft's outputs go below. [default: sandbox]")
@click.option("--slices", metavar="URI", help="Slice store of registered datasets. [default: .runtime/slices]")
@click.option("--allow-closed", is_flag=True, help="Accept a closed period.")
@click.option("--output", metavar="FILE", help="File to write to; in a folder (or FILE/) it is <sha256>.json.")
def command(
    catalog: Path,
    project: str,
    period: str,
    as_of: date | None,
    registry: str | None,
    timestamp: datetime | None,
    sandbox: str | None,
    slices: str | None,
    allow_closed: bool,
    output: str | None,
) -> None:
    """Pin every version and location of a run into its snapshot, and print it.

    The SHA-256 of exactly these bytes goes to standard error; into a folder the file is written as <sha256>.json.

    \b
    Examples:
      airflow-runtime resolve --project fx-conversion --period 2026-01
      airflow-runtime resolve --project fx-conversion --period 2026-01 --as-of 2026-01-15 --output snapshots/
    """
    from airflow_provider_runtime.cli.run_summary import print_overrides
    from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions
    from airflow_provider_runtime.core.rendering import render_problem

    choice = choose_registry(registry, catalog)
    options = ResolveOptions(
        as_of=as_of,
        run_timestamp=timestamp,
        sandbox=sandbox,
        slice_store=slices or str(choice.state / SLICES),
        allow_closed=allow_closed,
    )
    warnings: list[Problem] = []
    snapshot = _build(choice, catalog, project, period, options, warnings.append)
    place = _write(snapshot, output)
    click.echo(f"sha256 {snapshot.sha256}{f' {place}' if place else ''}", err=True)
    print_overrides(snapshot, err=True)
    for warning in warnings:
        click.echo("\n" + render_problem(warning), err=True)


def _build(
    choice: RegistryChoice,
    catalog: Path,
    project: str,
    period: str,
    options: ResolveOptions,
    warn: Callable[[Problem], None],
) -> Snapshot:
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot

    opened = choice.open_to_read(quiet=True)
    try:
        return build_snapshot(
            load_catalog(catalog, project=project),
            project,
            period,
            options,
            registry=opened,
            read_credential=read_credential,
            warn=warn,
            read_properties=read_properties,
        )
    finally:
        opened.close()


def _write(snapshot: Snapshot, output: str | None) -> str | None:
    """Write the snapshot's bytes, and return where to; to standard output nothing but these bytes go."""
    from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
    from spark_jobs.contract.file_lists import SUFFIX

    if output is None:
        sys.stdout.buffer.write(snapshot.content + (b"\n" if sys.stdout.isatty() else b""))
        sys.stdout.buffer.flush()
        if snapshot.file_lists:
            click.echo("it has long lists of files, in a file beside it: to run it, write it with --output", err=True)
        return None
    if output.endswith("/") or Path(output).is_dir():
        return write_snapshot(snapshot, output)
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        if snapshot.file_lists:
            Path(output + SUFFIX).write_bytes(snapshot.file_lists)
        Path(output).write_bytes(snapshot.content)
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror}") from None
    return output

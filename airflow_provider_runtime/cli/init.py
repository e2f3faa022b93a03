"""`airflow-runtime init`: a working catalog with data, a scenario and a DAG file to start from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

STARTER = Path(__file__).parent / "starter"
SCHEMA = Path(".vscode", "airflow-runtime.schema.json")
SAMPLE = ("catalog", "data", "scenarios", "README.md")
"""What of the starter belongs to its sample project."""
STEPS: tuple[str, ...] = (
    "airflow-runtime validate",
    "airflow-runtime test scenarios",
    "airflow-runtime run --project fx-conversion --period 2026-01",
)
HIDDEN = "dot-"
"""Prefix of names in the starter that begin with a dot in the folder that is made."""


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--from",
    "first",
    metavar="FILE…",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV and Parquet files to guess datasets from, in place of the sample.",
)
@click.argument("more", nargs=-1, metavar="", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(folder: Path, first: Path | None, more: tuple[Path, ...]) -> None:
    """Make a folder with a working catalog, sample data, a scenario and a DAG file.

    Files that exist are never overwritten.

    \b
    Example:
      airflow-runtime init books && cd books
      airflow-runtime validate
      airflow-runtime run --project fx-conversion --period 2026-01
      airflow-runtime init books --from data/2026-*.csv data/rates.parquet
    """
    if first is None and more:
        raise click.UsageError("files belong to --from")
    targets, steps = dict(list_targets()), STEPS
    if first is not None:
        from airflow_provider_runtime.cli.init_from import PROJECT, choose_input, choose_period, make_catalog
        from airflow_provider_runtime.core.rendering import escape_control

        catalog, tables = make_catalog((first, *more), folder)
        targets = {path: content for path, content in targets.items() if path.parts[0] not in SAMPLE} | catalog
        period = choose_period(choose_input(tables))
        steps = ("airflow-runtime validate", f"airflow-runtime run --project {PROJECT} --period {period}")
        for table in tables:
            click.echo(f"{table.name}: {len(table.columns)} columns, {table.temporal_mode}, from {table.path}")
            for remark in table.remarks:
                click.echo(f"  {escape_control(remark)}")
    present = sorted(str(target) for target in (*targets, SCHEMA) if (folder / target).exists())
    if present:
        from airflow_provider_runtime.core.suggest import list_names

        raise click.UsageError(f"{folder} has these files already: {list_names(present)}; name another folder")
    try:
        for target, content in targets.items():
            _write(folder / target, content)
        _write(folder / SCHEMA, _make_schema())
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename or folder}: {error.strerror}") from None
    click.echo(f"made {folder}: {len(targets) + 1} files. Next:")
    for line in (f"cd {click.format_filename(folder)}", *steps):
        click.echo(f"  {line}")
    if first is not None:
        click.echo("look at catalog/datasets.yaml first: every line that is marked as a guess may be wrong")


def list_targets() -> Iterator[tuple[Path, bytes]]:
    """Yield the files of the starter: where each goes below the new folder, and its content."""
    for source in sorted(STARTER.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            parts = source.relative_to(STARTER).parts
            names = (part.replace(HIDDEN, ".", 1) if part.startswith(HIDDEN) else part for part in parts)
            yield Path(*names), source.read_bytes()


def _make_schema() -> bytes:
    from airflow_provider_runtime.core.catalog.json_schema import make_schema

    return (json.dumps(make_schema(), indent=2) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

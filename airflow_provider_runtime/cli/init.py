"""`airflow-runtime init`: a working catalog with data, a scenario and a DAG file to start from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

STARTER = Path(__file__).parent / "starter"
SCHEMA = Path(".vscode", "airflow-runtime.schema.json")
HIDDEN = "dot-"
"""Prefix of names in the starter that begin with a dot in the folder that is made."""


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> None:
    """Make a folder with a working catalog, sample data, a scenario and a DAG file.

    Files that exist are never overwritten.

    \b
    Example:
      airflow-runtime init books && cd books
      airflow-runtime validate
      airflow-runtime run --project fx-conversion --period 2026-01
    """
    targets = dict(list_targets())
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
    for line in (
        f"cd {click.format_filename(folder)}",
        "airflow-runtime validate",
        "airflow-runtime test scenarios",
        "airflow-runtime run --project fx-conversion --period 2026-01",
    ):
        click.echo(f"  {line}")


def list_targets() -> Iterator[tuple[Path, bytes]]:
    """Yield the files of the starter: where each goes below the new folder, and its content."""
    for source in sorted(STARTER.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            parts = source.relative_to(STARTER).parts
            yield (
                Path(*(part.replace(HIDDEN, ".", 1) if part.startswith(HIDDEN) else part for part in parts)),
                (source.read_bytes()),
            )


def _make_schema() -> bytes:
    from airflow_provider_runtime.core.catalog.json_schema import make_schema

    return (json.dumps(make_schema(), indent=2) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

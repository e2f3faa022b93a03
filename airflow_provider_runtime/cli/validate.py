"""`airflow-runtime validate`: everything that is wrong with the definitions, at once."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    print_problems,
    project_option,
    registry_option,
)
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.core.errors import RuntimeProviderError


@click.command("validate")
@catalog_option
@project_option()
@registry_option(shown="none")
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@format_option("text", "json", "github")
@click.pass_context
def command(
    context: click.Context, catalog: Path, project: str | None, registry: str | None, strict: bool, output_format: str
) -> None:
    """Check definitions completely, without Spark and without data.

    Warnings are about what is legal and nearly always wrong; `# ok: WARN_001 reason` on the line or above silences one.

    \b
    Examples:
      airflow-runtime validate
      airflow-runtime validate --project fx-conversion --format json
    """
    from airflow_provider_runtime.core.planning.check.validation import validate_catalog

    opened = None
    try:
        # Without --registry the folder is judged by itself, wherever the command is called.
        opened = choose_registry(registry, catalog).open_to_read(quiet=True) if registry is not None else None
        result = validate_catalog(catalog, project=project, registry=opened)
    except RuntimeProviderError as error:
        unplaced = [found if found.location.file else found.at(file=str(catalog)) for found in error.problems]
        print_problems(unplaced, output_format, catalog)
        context.exit(1)
    finally:
        if opened is not None:
            opened.close()
    print_problems(result.problems, output_format, catalog, strict=strict)
    if not result.is_valid(strict=strict):
        context.exit(1)
    if output_format == "text":
        click.echo(f"{chr(10) if result.problems else ''}valid: {result.summary}")

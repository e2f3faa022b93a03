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
from airflow_provider_runtime.core.errors import RuntimeProviderError


@click.command("validate")
@catalog_option
@project_option()
@registry_option()
@format_option("text", "json", "github")
@click.pass_context
def command(
    context: click.Context, catalog: Path, project: str | None, registry: str | None, output_format: str
) -> None:
    """Check definitions completely, without Spark and without data.

    \b
    Examples:
      airflow-runtime validate
      airflow-runtime validate --project fx-conversion --format json
    """
    from airflow_provider_runtime.core.planning.validation import validate_catalog

    try:
        registered = list_registered_datasets(registry) if registry else ()
    except RuntimeProviderError as error:
        unplaced = [found if found.location.file else found.at(file=str(catalog)) for found in error.problems]
        print_problems(unplaced, output_format, catalog)
        context.exit(1)
    result = validate_catalog(catalog, project=project, registered=registered)
    print_problems(result.problems, output_format, catalog)
    if result.has_errors:
        context.exit(1)
    if output_format == "text":
        click.echo(f"valid: {result.summary}")


def list_registered_datasets(url: str) -> tuple[dict[str, object], ...]:
    """Return the newest definition of every dataset that the registry knows, as plain documents."""
    from airflow_provider_runtime.core.registry.sql import open_registry

    registry = open_registry(url)
    found = (registry.find_version(summary.dataset_id) for summary in registry.list_datasets())
    return tuple(dict(version.definition) for version in found if version is not None)

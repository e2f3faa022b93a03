"""`airflow-runtime explain`: what each operation of a project does, in Spark's words."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_runtime.cli.options import (
    catalog_option,
    format_option,
    period_option,
    print_json,
    project_option,
)


@click.command("explain")
@catalog_option
@project_option(required=True)
@period_option("Period whose run is explained: TODAY() and NOW() are the day after it.")
@format_option("text", "json", "mermaid")
def command(catalog: Path, project: str, period: str | None, output_format: str) -> None:
    """Show each operation's Spark SQL, the schema after it with types, and column lineage.

    \b
    Examples:
      airflow-runtime explain --project fx-conversion
      airflow-runtime explain --project fx-conversion --format mermaid
    """
    from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
    from airflow_provider_runtime.core.planning.snapshot.explanation import explain_project, render_mermaid, render_text

    explanation = explain_project(catalog, project, period)
    if output_format == "json":
        print_json(explanation)
    else:
        shown = render_mermaid(explanation) if output_format == "mermaid" else render_text(explanation)
        click.echo("\n".join(hide_control_characters(line) for line in shown.split("\n")))

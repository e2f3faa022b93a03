"""`airflow-runtime schema`: JSON Schema for the YAML documents."""

from __future__ import annotations

import click

from airflow_provider_runtime.cli.options import print_json


@click.command("schema")
@click.option(
    "--kind",
    type=click.Choice(["calendar", "datasource", "resolver", "dataset", "project", "scenario"]),
    help="Only this kind of document. [default: all of them]",
)
def command(kind: str | None) -> None:
    """Print JSON Schema, so that editors complete and check definitions.

    \b
    Examples:
      airflow-runtime schema > .vscode/airflow-runtime.schema.json
      airflow-runtime schema --kind project

    In VS Code, with the YAML extension, settings.json:
      "yaml.schemas": {".vscode/airflow-runtime.schema.json": ["catalog/**/*.yaml", "scenarios/*.yaml"]}
    """
    from airflow_provider_runtime.core.catalog.json_schema import make_schema

    print_json(make_schema(kind))

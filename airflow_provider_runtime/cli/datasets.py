"""The command `airflow-runtime datasets`."""

from __future__ import annotations

from pathlib import Path

import click

from airflow_provider_runtime.cli.options import catalog_option, format_option, print_json, registry_option
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.cli.tables import print_table
from airflow_provider_runtime.core.registry.ports import DatasetSummary, Registry


@click.command("datasets")
@catalog_option
@registry_option()
@format_option("text", "json")
def command(catalog: Path, registry: str | None, output_format: str) -> None:
    """List the registered datasets and their versions.

    \b
    Example:
      airflow-runtime datasets --format json
    """
    opened = choose_registry(registry, catalog).open_to_read()
    summaries = opened.list_datasets()
    if output_format == "json":
        print_json([_describe_dataset(opened, summary) for summary in summaries])
        return
    titles = ("dataset", "version", "periods", "rows", "updated (UTC)", "id")
    rows = [(s.name, s.latest_version, s.periods, s.rows, s.updated_at, s.dataset_id) for s in summaries]
    print_table(titles, rows, empty="no dataset was registered yet", optional=("id",))


def _describe_dataset(registry: Registry, summary: DatasetSummary) -> dict[str, object]:
    latest = registry.find_version(summary.dataset_id)
    return {
        "id": summary.dataset_id,
        "name": summary.name,
        "latest_version": summary.latest_version,
        "rows": summary.rows,
        "updated_at": summary.updated_at.isoformat(),
        "versions": [
            {
                "version": item.version,
                "period": item.period,
                "created_at": item.created_at.isoformat(),
                "run_id": item.run_id,
                "snapshot_sha256": item.snapshot_sha256,
            }
            for item in registry.list_versions(summary.dataset_id)
        ],
        "slices": [
            {"period": item.period, "uri": item.uri, "rows": item.rows, "since_version": item.first_version}
            for item in (latest.slices if latest else ())
        ],
    }

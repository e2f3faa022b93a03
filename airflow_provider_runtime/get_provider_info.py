"""What Airflow asks a provider for."""

from __future__ import annotations

from typing import Any

from airflow_provider_runtime import __version__

_TEXT = {"type": ["string", "null"]}


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description, connection type, configuration and links."""
    return {
        "package-name": "airflow-provider-runtime",
        "name": "Runtime",
        "description": "Declarative, period-scoped computations on Spark, run by Airflow",
        "versions": [__version__],
        "integrations": [{"integration-name": "Runtime", "tags": ["software"]}],
        "operators": [
            {
                "integration-name": "Runtime",
                "python-modules": [
                    "airflow_provider_runtime.operators.resolve",
                    "airflow_provider_runtime.operators.run_project",
                    "airflow_provider_runtime.operators.approve_run",
                    "airflow_provider_runtime.operators.publish_run",
                ],
            }
        ],
        "hooks": [{"integration-name": "Runtime", "python-modules": ["airflow_provider_runtime.hooks.runtime"]}],
        "connection-types": [_CONNECTION_TYPE],
        "extra-links": [
            "airflow_provider_runtime.operators.links.EvidenceLink",
            "airflow_provider_runtime.operators.links.SnapshotLink",
            "airflow_provider_runtime.operators.links.ReportLink",
            "airflow_provider_runtime.operators.links.SparkUiLink",
        ],
        "config": {"runtime": {"description": "Defaults of the runtime provider", "options": _OPTIONS}},
    }


_CONNECTION_TYPE = {
    "connection-type": "runtime",
    "hook-class-name": "airflow_provider_runtime.hooks.runtime.RuntimeHook",
    "hook-name": "Runtime",
    "ui-field-behaviour": {
        "hidden-fields": ["host", "schema", "login", "port"],
        # The registry's URL may hold a password, so it takes the field that Airflow encrypts and never shows again.
        "relabeling": {"password": "Registry URL"},
        "placeholders": {"password": "postgresql+psycopg://user:password@host/database"},
    },
    "conn-fields": {
        "snapshot_store": {
            "label": "Snapshot store",
            "description": "Folder or URI below which run snapshots and reports are kept. All fields may be empty: then"
            " everything is below AIRFLOW_HOME/.runtime. The button Test is enabled by the setting"
            " AIRFLOW__CORE__TEST_CONNECTION=Enabled of the API server.",
            "schema": _TEXT,
        },
        "slice_store": {
            "label": "Slice store",
            "description": "Folder or URI below which registered datasets are kept",
            "schema": _TEXT,
        },
        "catalog_path": {
            "label": "Catalog path",
            "description": "Folder of the YAML definitions, for tasks that name none",
            "schema": _TEXT,
        },
    },
}


def _make_option(description: str, default: str) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": "string",
        "example": None,
        "default": default,
    }


_OPTIONS = {
    "snapshot_store": _make_option("Where snapshots go when the connection names no store", ""),
    "slice_store": _make_option("Where registered datasets go when the connection names no store", ""),
    "catalog_path": _make_option("Catalog folder when neither the task nor the connection names one", ""),
    "parse_cache": _make_option(
        "Folder of what the DAG factory remembers of parsed files; empty: below AIRFLOW_HOME", ""
    ),
    "deadline_callback": _make_option(
        "Import path of the coroutine that is called when a run is late",
        "airflow_provider_runtime.deadlines.notifications.notify_late",
    ),
}

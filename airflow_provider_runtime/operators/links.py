"""Links on a task's page: its snapshot, its run report, and Spark's own page where it is known."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import BaseOperatorLink


class SnapshotLink(BaseOperatorLink):
    """The run snapshot that the task wrote or executed."""

    name = "Snapshot"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the snapshot's address."""
        del ti_key
        return str(getattr(operator, "snapshot_uri", None) or "")


class ReportLink(BaseOperatorLink):
    """The report that the Spark job wrote."""

    name = "Run report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the report's address."""
        del ti_key
        return str(getattr(operator, "report_uri", None) or "")


class SparkUiLink(BaseOperatorLink):
    """Spark's page of the application."""

    name = "Spark UI"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address that the cluster told, or nothing."""
        del ti_key
        return str(getattr(operator, "spark_ui_url", None) or "")

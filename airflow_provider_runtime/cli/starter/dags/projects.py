"""One DAG for each project of the catalog."""

from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_runtime.dag_factory import project_dags

CATALOG = Path(__file__).parents[1] / "catalog"
# The sample data end with March 2026, and so do the runs: leave `end_date` out when you have data of your own.
globals().update(project_dags(CATALOG, end_date=datetime(2026, 3, 31, tzinfo=UTC)))

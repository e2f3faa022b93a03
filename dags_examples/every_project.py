"""One DAG for each project of the catalog: this line is all there is to write."""

from datetime import UTC, datetime

from airflow_provider_runtime.dag_factory import project_dags

# The sample data end with March 2026, and so do the runs.
globals().update(project_dags("catalog", end_date=datetime(2026, 3, 31, tzinfo=UTC)))

"""One DAG for each project of the catalog."""

from pathlib import Path

from airflow_provider_runtime.dag_factory import project_dags

globals().update(project_dags(Path(__file__).parents[1] / "catalog"))

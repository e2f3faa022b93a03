"""One DAG for each project of the catalog: this line is all there is to write."""

from airflow_provider_runtime.dag_factory import project_dags

globals().update(project_dags("catalog"))

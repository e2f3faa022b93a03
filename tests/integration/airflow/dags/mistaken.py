"""Projects of which one has a mistake: an import error in Airflow, beside the DAG of the other."""

from airflow_provider_runtime.dag_factory import project_dags

globals().update(project_dags("mistaken_catalog"))

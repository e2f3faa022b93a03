"""A single project, with what this deployment wants otherwise than the project's YAML says."""

from airflow_provider_runtime.dag_factory import project_dag

dag = project_dag("fx-close", "catalog", dag_id="fx-close-on-demand", schedule=None, deadline=None)

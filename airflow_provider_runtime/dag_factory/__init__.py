"""DAGs from YAML: project_dag, project_dags and ProjectTaskGroup."""

from airflow_provider_runtime.dag_factory.dags import ProjectTaskGroup, project_dag, project_dags

__all__ = ["ProjectTaskGroup", "project_dag", "project_dags"]

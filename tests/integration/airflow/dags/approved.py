"""A project whose rows are published once somebody other than the preparer has approved them."""

from datetime import UTC, datetime

from airflow_provider_runtime.dag_factory import project_dag

approved = project_dag("approved-close", "approved_books/catalog", end_date=datetime(2026, 4, 30, tzinfo=UTC))

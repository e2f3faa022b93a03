"""DAGs that go wrong: mistakes, a missing Spark connection, a job that gets killed, checks that fail, late data."""

from datetime import UTC, datetime, timedelta

from airflow_provider_runtime.dag_factory import project_dag

END = datetime(2026, 3, 31, tzinfo=UTC)
PATIENT = {"retry_delay": timedelta(seconds=1), "retry_exponential_backoff": False}
SUBMITTED = {"conn_id": "spark_submit", **PATIENT}

broken = project_dag("broken", "broken_catalog", end_date=END)
unconnected = project_dag("valuation", "catalog", dag_id="unconnected", end_date=END, run_args={"conn_id": "nowhere"})
killed = project_dag("valuation", "catalog", dag_id="killed", end_date=END, run_args=SUBMITTED)
checked = project_dag("checked", "checked_catalog", end_date=END, run_args=PATIENT)
in_order = project_dag(
    "valuation",
    "catalog",
    dag_id="in-order",
    end_date=END,
    resolve_args={
        "requires_previous_period": True,
        "poke_interval": 15.0,
        "execution_timeout": timedelta(seconds=12),
        "retries": 0,
    },
)
late = project_dag(
    "valuation",
    "catalog",
    dag_id="late",
    end_date=END,
    resolve_args={"wait_for_data": timedelta(hours=1), "poke_interval": 15.0},
)

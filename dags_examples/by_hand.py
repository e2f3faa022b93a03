"""The operators by hand, for a DAG that does more than run projects."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.dag_factory import ProjectTaskGroup
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable

log = logging.getLogger(__name__)
CATALOG = Path(__file__).parent / "catalog"
MONTHLY = PeriodTimetable(GREGORIAN, "month")
END = datetime(2026, 3, 31, tzinfo=UTC)  # the sample data end here

with DAG("by-hand", schedule=MONTHLY, end_date=END, catchup=False):
    resolve = ResolveOperator(task_id="resolve", project="fx-close", catalog=CATALOG)
    run = RunProjectOperator(task_id="run", snapshot=resolve.output, conn_id="spark_default")

    @task
    def tell(report: dict) -> None:
        """Say what was published."""
        for output in report["outputs"]:
            log.info("%s: %s rows in output %s", report["period"], output["rows"], output["seq"])

    tell(run.output)

with DAG("group-by-hand", schedule=MONTHLY, end_date=END, catchup=False):
    ProjectTaskGroup("valuation", CATALOG)

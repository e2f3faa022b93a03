"""The operators by hand, for a DAG that does more than run projects."""

from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.dag_factory import ProjectTaskGroup
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable

CATALOG = Path(__file__).parent / "catalog"

with DAG("by-hand", schedule=PeriodTimetable(GREGORIAN, "month"), catchup=False):
    resolve = ResolveOperator(task_id="resolve", project="fx-close", catalog=CATALOG)
    run = RunProjectOperator(task_id="run", snapshot=resolve.output, conn_id="spark_default")

    @task
    def tell(report: dict) -> None:
        """Say what was published."""
        for output in report["outputs"]:
            print(f"{report['period']}: {output['rows']} rows in output {output['seq']}")

    tell(run.output)

with DAG("group-by-hand", schedule=PeriodTimetable(GREGORIAN, "month"), catchup=False):
    ProjectTaskGroup("valuation", CATALOG)

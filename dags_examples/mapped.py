"""Several periods in one run: mapped tasks, TaskFlow around them, a trigger rule, a callback that gets the error."""

import logging
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator

log = logging.getLogger(__name__)
CATALOG = str(Path(__file__).parent / "catalog")


def tell_failure(context: dict) -> None:
    """Say what is wrong, where, and what to do; a ticket or a message would be made of the same fields."""
    for problem in getattr(context["exception"], "problems", ()):
        log.error("%s in %s, line %s: %s", problem["code"], problem["file"], problem["line"], problem["hint"])


with DAG("restate-months", schedule=None, params={"months": Param(["2026-01", "2026-02"], type="array")}):

    @task
    def choose_months(params: dict) -> list[str]:
        """Each month once, in order."""
        return sorted(set(params["months"]))

    resolve = ResolveOperator.partial(
        task_id="resolve",
        project="valuation",
        catalog=CATALOG,
        map_index_template="{{ task.period }}",
        on_failure_callback=tell_failure,
    ).expand(period=choose_months())

    run = RunProjectOperator.partial(
        task_id="run",
        conn_id="spark_default",
        max_active_tis_per_dagrun=1,
        map_index_template="{{ task.snapshot['period'] }}",
        on_failure_callback=tell_failure,
    ).expand(snapshot=resolve.output)

    @task(trigger_rule="all_done")
    def summarize(reports: list[dict]) -> dict[str, int]:
        """Rows of each month that was published, also when another has failed."""
        return {report["period"]: sum(output["rows"] for output in report["outputs"]) for report in reports}

    summarize(run.output)

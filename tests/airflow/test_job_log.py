"""Which of a job's lines are shown while it runs."""

from __future__ import annotations

import json

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_provider_runtime.hooks.job_log import MOST_LINES, JobLog
from airflow_provider_runtime.hooks.job_submit import JobSubmitHook
from spark_jobs.contract.progress import write_progress

pytestmark = pytest.mark.airflow

STACK = [
    "26/11/20 05:34:50 WARN FileStreamSink: Error while looking for metadata directory",
    "java.io.FileNotFoundException: File file:/data/2026-03.csv does not exist",
    "\tat org.apache.hadoop.fs.RawLocalFileSystem.deprecatedGetFileStatus(RawLocalFileSystem.java:980)",
    "Caused by: java.lang.IllegalStateException: 05:34:50 is no progress",
]


def test_progress_is_shown_at_once_and_stack_traces_are_kept() -> None:
    log = JobLog()
    progress = write_progress("operation 10 update 'Convert', 6 rows, 1.2 s")

    assert [line for line in [*STACK, progress] if log.shows(line)] == [progress]
    assert log.take() == STACK
    assert log.take() == []


def test_warning_of_a_job_that_waits_for_a_cluster_is_shown_at_once() -> None:
    waiting = "26/11/20 05:34:50 WARN TaskSchedulerImpl: Initial job has not accepted any resources"

    assert JobLog().shows(waiting)


def test_last_lines_are_kept_when_there_are_too_many() -> None:
    log = JobLog()
    for number in range(MOST_LINES + 3):
        log.shows(f"at line {number}")

    kept = log.take()
    assert kept[0] == "(3 lines before these are left out)"
    assert (kept[1], kept[-1]) == ("at line 3", f"at line {MOST_LINES + 2}")


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [({}, 1), ({"conf": {"spark.log.level": "INFO"}}, 0), ({"deploy_mode": "cluster"}, 0)],
    ids=["quiet", "asked for more", "driver elsewhere"],
)
def test_lines_wait_only_where_nobody_needs_them_now(
    arguments: dict[str, object], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))
    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default", **arguments), {})

    list(hook.watch_log(iter(["26/11/20 05:34:46 INFO SparkContext: Running Spark version 4.2.0"])))
    assert len(hook.job_log.take()) == kept

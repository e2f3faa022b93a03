"""What runs on this machine runs on a standalone cluster too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeTask
from tests.integration.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.integration]

PROGRAM = """
import sys
from airflow_provider_runtime.cli.local_spark import start_spark
conf = dict(item.split("=", 1) for item in sys.argv[2:])
spark = start_spark(sys.argv[1], conf)
rows = spark.range(0, 1000, 1, 4).selectExpr("id", "java_method('java.lang.System', 'getenv', 'TZ') AS zone")
print(*rows.selectExpr("sum(id)", "max(zone)").first(), spark.sparkContext.master)
spark.stop()
"""
SUBMITTED = """
from spark_jobs.run_project import _start_session
spark = _start_session(None)
print("zone=" + spark.range(1).selectExpr("java_method('java.lang.System', 'getenv', 'TZ')").first()[0])
spark.stop()
"""


@pytest.mark.chaos
def test_the_cluster_runs_a_job_on_its_workers(spark_cluster: SparkCluster, tmp_path: object) -> None:
    settings = [f"{key}={value}" for key, value in spark_cluster.conf.items()]
    command = [sys.executable, "-c", PROGRAM, spark_cluster.url, *settings]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=str(tmp_path), env=_make_env())
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.split() == ["499500", "UTC", spark_cluster.url]


@pytest.mark.chaos
def test_executors_of_a_submitted_job_live_in_utc(spark_cluster: SparkCluster, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SUBMITTED)
    submit = str(Path(sys.executable).with_name("spark-submit"))
    command = [submit, "--master", spark_cluster.url, *spark_cluster.list_conf_arguments(), str(tmp_path / "job.py")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=_make_env())
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "zone=UTC" in ended.stdout.splitlines()


def test_a_task_with_a_connection_to_the_cluster_runs_there(
    spark_cluster: SparkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In client mode: the driver beside the task, the work on the two workers."""
    subprocess.run(
        [sys.executable, "-m", "airflow_provider_runtime.cli.main", "init", "books"], cwd=tmp_path, check=True
    )
    host, _, port = spark_cluster.url.removeprefix("spark://").partition(":")
    address = {"conn_type": "spark", "host": f"spark://{host}", "port": int(port)}
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(address))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    task = FakeTask()
    resolve = ResolveOperator(task_id="resolve", project="fx-conversion", catalog=str(tmp_path / "books" / "catalog"))
    task.xcom["resolve"] = resolve.execute(task.context("resolve"))
    operator = RunProjectOperator(
        task_id="run", snapshot=task.xcom["resolve"], conn_id="cluster", conf=dict(spark_cluster.conf)
    )
    assert operator.execute(task.context())["status"] == "succeeded"
    files = tmp_path / "books" / "warehouse" / "transactions_usd" / "**" / "*.parquet"
    rows = duckdb.sql(f"SELECT count(*), sum(amount_usd) FROM read_parquet('{files}')").fetchall()
    assert rows == [(6, Decimal("18215.21"))]


def _make_env() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": os.getcwd(), "SPARK_LOCAL_IP": "127.0.0.1", "TZ": "Pacific/Apia"}

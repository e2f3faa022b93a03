from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integration.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.integration]

PROGRAM = """
import sys
from airflow_provider_runtime.cli.local_spark import start_spark
conf = dict(item.split("=", 1) for item in sys.argv[2:])
spark = start_spark(sys.argv[1], conf)
print(spark.range(0, 1000, 1, 4).selectExpr("sum(id)").first()[0], spark.sparkContext.master)
spark.stop()
"""


def test_the_cluster_runs_a_job_on_its_workers(spark_cluster: SparkCluster, tmp_path: object) -> None:
    settings = [f"{key}={value}" for key, value in spark_cluster.conf.items()]
    command = [sys.executable, "-c", PROGRAM, spark_cluster.url, *settings]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=str(tmp_path), env=_make_env())
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.split() == ["499500", spark_cluster.url]


def _make_env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.getcwd(), "SPARK_LOCAL_IP": "127.0.0.1"}

"""What the hook adds to spark-submit's environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_provider_runtime.hooks.job_submit import JobSubmitHook, make_exit_error

pytestmark = pytest.mark.airflow


def build_environment(monkeypatch: pytest.MonkeyPatch, host: str, **arguments: object) -> dict[str, str]:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": host}))
    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default", **arguments), {"SECRET": "s3cret"})
    command = hook._build_spark_submit_command("job.py")
    assert "s3cret" not in " ".join(command)
    return dict(hook._env or {})


def test_a_local_master_starts_the_quick_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_RUNTIME_CACHE", str(tmp_path))
    import pyspark

    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    found = build_environment(monkeypatch, "local[*]", conf={"spark.driver.extraJavaOptions": "-XX:+UseZGC"})
    assert found["SECRET"] == "s3cret"
    assert found["SPARK_HOME"].startswith(str(tmp_path))
    assert "Parallel" not in found.get("SPARK_SUBMIT_OPTS", "")
    assert "-XX:+UseParallelGC" in build_environment(monkeypatch, "local[*]")["SPARK_SUBMIT_OPTS"]


def test_a_cluster_gets_nothing_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_RUNTIME_CACHE", str(tmp_path))
    assert build_environment(monkeypatch, "spark://master:7077") == {"SECRET": "s3cret"}
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_java_failed_with_is_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from airflow_provider_runtime.fast_start.home import QuickHome

    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default"), {})
    hook.quick_home = QuickHome(tmp_path)
    archive = tmp_path / "classes-3.jsa"
    archive.write_text("abc")
    hook._care_for_archive(11)
    assert archive.exists()
    hook._care_for_archive(134)
    assert not archive.exists()


def test_a_connect_server_gets_a_plain_process_and_its_token_stays_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    server = {"conn_type": "spark_connect", "host": "spark.example", "port": 15002, "password": "t0ken"}
    monkeypatch.setenv("AIRFLOW_CONN_WARM", json.dumps(server))
    spark = SparkSubmitHook(conn_id="warm", py_files="/tmp/job.zip", application_args=["--attempt", "7"])
    hook = JobSubmitHook.adopt(spark, {"SECRET": "s3cret"})
    assert hook._build_spark_submit_command("run_project.py") == [sys.executable, "run_project.py", "--attempt", "7"]
    assert hook._env is not None
    assert hook._env["SPARK_REMOTE"] == "sc://spark.example:15002/;token=t0ken"
    assert hook._env["PYTHONPATH"].split(":")[0] == "/tmp/job.zip"
    assert hook._env["SECRET"] == "s3cret"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-9, "was killed by signal SIGKILL"),
        (137, "was killed by signal SIGKILL"),
        (143, "was killed by signal SIGTERM"),
        (1, "ended with exit code 1"),
        (255, "ended with exit code 255"),
    ],
)
def test_exit_code_of_a_killed_job_is_told_as_its_signal(code: int, text: str) -> None:
    assert f"the Spark job {text} without a report" in str(make_exit_error(code))

"""What the hook adds to spark-submit's environment."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_provider_runtime.hooks.credentials import hide_credentials, make_environment
from airflow_provider_runtime.hooks.job_submit import JobSubmitHook, make_exit_error
from spark_jobs.submitter import SUBMITTER_VARIABLE, describe_process

pytestmark = pytest.mark.airflow


def build_environment(monkeypatch: pytest.MonkeyPatch, host: str, **arguments: object) -> dict[str, str]:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": host}))
    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default", **arguments), {"SECRET": "s3cret"})
    command = hook.build_command("job.py")
    assert "s3cret" not in " ".join(command)
    return dict(hook.environment)


def test_a_local_master_starts_the_quick_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_RUNTIME_CACHE", str(tmp_path))
    import pyspark

    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    found = build_environment(monkeypatch, "local[*]", conf={"spark.driver.extraJavaOptions": "-XX:+UseZGC"})
    assert found["SECRET"] == "s3cret"
    assert found["SPARK_HOME"].startswith(str(tmp_path))
    assert "Parallel" not in found.get("SPARK_SUBMIT_OPTS", "")
    assert "-XX:+UseParallelGC" in build_environment(monkeypatch, "local[*]")["SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize("is_small", [True, False])
def test_only_a_small_job_is_left_to_the_quick_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_small: bool
) -> None:
    monkeypatch.setenv("AIRFLOW_RUNTIME_CACHE", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[*]"}))
    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default"), {}, is_small=is_small)
    hook.build_command("job.py")
    assert ("-XX:TieredStopAtLevel=1" in hook.environment["SPARK_SUBMIT_OPTS"]) is is_small


def test_a_cluster_gets_nothing_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_RUNTIME_CACHE", str(tmp_path))
    found = build_environment(monkeypatch, "spark://master:7077")
    assert found == {"SECRET": "s3cret", SUBMITTER_VARIABLE: describe_process(os.getpid())}
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_java_failed_with_is_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from airflow_provider_runtime.fast_start.home import QuickHome

    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default"), {})
    hook.quick_home = QuickHome(tmp_path)
    archive = tmp_path / "classes-3-0.jsa"
    archive.write_text("abc")
    hook._maintain_archive(11)
    assert archive.exists()
    hook._maintain_archive(134)
    assert not archive.exists()


def test_a_connect_server_gets_a_plain_process_and_its_token_stays_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    server = {"conn_type": "spark_connect", "host": "spark.example", "port": 15002, "password": "t0ken"}
    monkeypatch.setenv("AIRFLOW_CONN_WARM", json.dumps(server))
    spark = SparkSubmitHook(conn_id="warm", py_files="/tmp/job.zip", application_args=["--attempt", "7"])
    hook = JobSubmitHook.adopt(spark, {"SECRET": "s3cret"})
    assert hook.build_command("run_project.py") == [sys.executable, "run_project.py", "--attempt", "7"]
    assert hook.environment["SPARK_REMOTE"] == "sc://spark.example:15002/;token=t0ken"
    assert hook.environment["PYTHONPATH"].split(":")[0] == "/tmp/job.zip"
    assert hook.environment["SECRET"] == "s3cret"
    assert hook.environment[SUBMITTER_VARIABLE] == describe_process(os.getpid())


def test_a_remote_driver_gets_neither_secrets_nor_its_submitter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_environment(monkeypatch, "yarn", deploy_mode="cluster") == {}


def test_line_of_spark_that_repeats_a_secret_is_cleaned_in_all_its_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database may say in its error what it was given, and Spark logs the error as it is."""
    dwh = {"conn_type": "postgres", "login": "u", "password": "canary-1 é'/%", "extra": {"key": "BEGIN\ncanary-2 line"}}
    monkeypatch.setenv("AIRFLOW_CONN_DWH", json.dumps(dwh))
    monkeypatch.setenv("LAKE", json.dumps({"fs.sas": "canary-3=="}))
    references = ["airflow://dwh", "env://LAKE", "env://NOT_SET"]
    hide_credentials(references, make_environment(references))
    login = b64encode(f"u:{dwh['password']}".encode()).decode()
    lines = [
        "ERROR denied for canary-1 é'/%", "canary-2 line", f"Basic {login}", "x=canary-1%20%C3%A9%27%2F%25&y=1",
        json.dumps({"password": dwh["password"]}), "sas canary-3== or canary-3%3D%3D",
    ]  # fmt: skip
    hook = JobSubmitHook.adopt(SparkSubmitHook(conn_id="spark_default"), {})
    shown = list(hook.watch_log(iter([*lines, "Spark UI at http://driver:4040"])))
    assert [*shown, *hook.job_log.take()] == [
        "ERROR denied for ***", "***", "Basic ***==", "x=***&y=1", '{"password": "***"}', "sas *** or ***",
        "Spark UI at http://driver:4040",
    ]  # fmt: skip
    assert hook.spark_ui_url == "http://driver:4040"


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
def test_exit_code_of_a_killed_job_is_reported_as_its_signal(code: int, text: str) -> None:
    assert f"the Spark job {text} without a report" in str(make_exit_error(code))

"""Retries of a job that runs on YARN in cluster mode, with a stub of the resource manager."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_runtime.core.registry.ports import Registry, RunStart
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.runs import execution as runs
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeSpark, FakeTask
from tests.airflow.test_tasks import resolve, run

pytestmark = pytest.mark.airflow


class ResourceManager(BaseHTTPRequestHandler):
    answers = ("FINISHED", "SUCCEEDED")
    asked = 0
    killed = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        state, final = ("RUNNING", "UNDEFINED") if self.asked == 1 else self.answers
        self.answer({"app": {"state": state, "finalStatus": final, "diagnostics": ""}})

    def do_PUT(self) -> None:
        type(self).killed += 1
        type(self).answers = ("KILLED", "KILLED")
        self.answer({"state": "KILLED"})

    def answer(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def yarn(spark: FakeSpark, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[ResourceManager]]:
    handler = type("Handler", (ResourceManager,), {})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        extra = {
            "deploy-mode": "cluster",
            "yarn_resourcemanager_webapp_address": f"http://127.0.0.1:{server.server_port}",
        }
        connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        monkeypatch.setenv("HADOOP_CONF_DIR", "/nowhere")
        monkeypatch.setattr(spark_submit.time, "sleep", lambda _: None)
        yield handler
        server.shutdown()


def die_while_following(task: FakeTask, pins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker dies while it follows the job, and the registry does not learn of it."""
    with monkeypatch.context() as patch:
        patch.setattr(RunProjectOperator, "poll_until_complete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(runs.Execution, "_record_failure", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            run(task, pins)


def lose_sight(task: FakeTask, pins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resource manager cannot be asked while the job is followed: the try fails, and the job may go on."""
    silence = AirflowException("the resource manager does not answer")
    with monkeypatch.context() as patch:
        patch.setattr(RunProjectOperator, "poll_until_complete", lambda *_: (_ for _ in ()).throw(silence))
        with pytest.raises(AirflowException, match="does not answer"):
            run(task, pins)


def let_the_job_fail(task: FakeTask, pins: Any, yarn: type[ResourceManager], monkeypatch: pytest.MonkeyPatch) -> None:
    """The job ends on the cluster without a report."""
    yarn.answers = ("FINISHED", "FAILED")
    with monkeypatch.context() as patch:
        patch.setenv("FAKE_SUBMIT_SILENT", "1")
        with pytest.raises(AirflowException, match="INFRA_001"):
            run(task, pins)


def open_books(home: Path) -> Registry:
    return open_registry(f"sqlite:///{home}/.runtime/registry.db")


def lock(home: Path) -> None:
    open_books(home).set_period_status("gregorian", "2026-01", "locked", who="ann", reason="audited")


def test_cluster_job_is_followed_and_taken_up_again(
    yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    die_while_following(task, pins, monkeypatch)

    assert run(task, pins)["status"] == "succeeded"
    assert len(spark.calls) == 1
    assert any(key.startswith("spark_job_id:0:") for key in task.store.values)


def test_cluster_job_that_failed_is_submitted_anew_by_the_retry(
    yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    let_the_job_fail(task, pins, yarn, monkeypatch)
    submit = RunProjectOperator.submit_job

    def succeed(operator: RunProjectOperator, context: Any) -> str | None:
        yarn.answers = ("FINISHED", "SUCCEEDED")
        return submit(operator, context)

    monkeypatch.setattr(RunProjectOperator, "submit_job", succeed)
    assert run(task, pins)["status"] == "succeeded"
    assert len(spark.calls) == 2
    assert spark.attempts[0] < spark.attempts[1]


def test_retry_after_a_try_that_could_not_write_its_token_down_runs_anew(
    yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    let_the_job_fail(task, pins, yarn, monkeypatch)
    first = spark.attempts[0]
    remember = task.store.set

    def fail(key: str, value: Any) -> None:
        if key.startswith("attempt_token") and value != str(first):
            raise RuntimeError("the API server does not answer")
        remember(key, value)

    with monkeypatch.context() as patch:
        patch.setattr(task.store, "set", fail)
        with pytest.raises(AirflowException):
            run(task, pins)
    assert len(spark.calls) == 1

    def follow(*_: object) -> None:
        """The new job has written its report."""

    monkeypatch.setattr(RunProjectOperator, "poll_until_complete", follow)
    assert run(task, pins)["status"] == "succeeded"
    assert (len(spark.calls), yarn.killed) == (2, 0)


def test_retry_after_another_run_that_published_nothing_stops_the_old_job_and_runs_anew(
    home: Path, yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    lose_sight(task, pins, monkeypatch)
    fail_another_run(open_books(home))

    monkeypatch.setattr(RunProjectOperator, "poll_until_complete", lambda *_: None)
    assert run(task, pins)["status"] == "succeeded"
    assert (len(spark.calls), yarn.killed) == (2, 1)
    assert spark.attempts[0] < spark.attempts[1]


def fail_another_run(registry: Registry) -> None:
    """Another snapshot takes the lease of the project and period, and publishes nothing."""
    (run,) = registry.list_runs()
    start = RunStart("b" * 64, "other", run.project_id, run.project_name, 1, run.calendar, run.period, run.level)
    attempt = registry.begin_attempt(start, holder="elsewhere/1/1")
    registry.fail_attempt(attempt, {"code": "DATA_001", "message": "gone"})


def test_cluster_job_that_could_not_be_asked_for_is_taken_up_by_the_retry(
    home: Path, yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    lose_sight(task, pins, monkeypatch)

    assert run(task, pins)["status"] == "succeeded"
    assert len(spark.calls) == 1
    (found,) = open_books(home).list_runs()
    assert (found.status, found.attempt, found.error) == ("succeeded", 1, None)


def test_job_submitted_anew_keeps_its_own_lease(
    yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heart must beat for the new attempt: one for the old attempt would have the new job stopped."""
    task = FakeTask()
    pins = resolve(task)
    die_while_following(task, pins, monkeypatch)
    yarn.asked, yarn.answers = 1, ("FINISHED", "FAILED")
    stopped: list[bool] = []
    monkeypatch.setattr(runs, "keep_alive", partial(runs.keep_alive, interval_seconds=0.02))
    monkeypatch.setattr(RunProjectOperator, "on_kill", lambda _: stopped.append(True))
    monkeypatch.setattr(RunProjectOperator, "poll_until_complete", lambda *_: threading.Event().wait(0.5))

    assert run(task, pins)["status"] == "succeeded"
    assert len(spark.calls) == 2
    assert not stopped


def test_lock_stops_a_job_that_a_retry_has_taken_up(
    home: Path, yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    yarn.answers = ("RUNNING", "UNDEFINED")
    die_while_following(task, pins, monkeypatch)

    asked_before = yarn.asked

    def wait(_: float) -> None:
        if yarn.asked <= asked_before + 2:
            lock(home)
        if yarn.asked > asked_before + 100:
            yarn.answers = ("FINISHED", "SUCCEEDED")
        threading.Event().wait(0.05)

    monkeypatch.setattr(runs, "keep_alive", partial(runs.keep_alive, interval_seconds=0.05))
    monkeypatch.setattr(spark_submit.time, "sleep", wait)
    with pytest.raises(AirflowFailException, match="PERIOD_002"):
        run(task, pins)
    assert (yarn.killed, len(spark.calls)) == (1, 1)


def test_task_that_is_marked_failed_stops_a_job_that_it_has_taken_up(
    yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = FakeTask()
    pins = resolve(task)
    die_while_following(task, pins, monkeypatch)
    operator = RunProjectOperator(task_id="run", snapshot=pins)

    def mark_failed(*_: object) -> str:
        operator.on_kill()
        raise KeyboardInterrupt

    monkeypatch.setattr(operator, "get_job_status", mark_failed)
    with pytest.raises(KeyboardInterrupt):
        operator.execute(task.context())
    assert yarn.killed == 1


@pytest.mark.parametrize(("state", "kills"), [("RUNNING", 1), ("FAILED", 0)])
def test_job_that_nobody_follows_is_stopped_by_the_retry_that_the_lock_refuses(
    home: Path, yarn: type[ResourceManager], spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, state: str, kills: int
) -> None:
    task = FakeTask()
    pins = resolve(task)
    die_while_following(task, pins, monkeypatch)
    yarn.asked, yarn.answers = 1, (state, "UNDEFINED")
    lock(home)

    with pytest.raises(AirflowFailException, match="PERIOD_002"):
        run(task, pins)
    assert (yarn.killed, len(spark.calls)) == (kills, 1)


def test_cluster_job_runs_anew_after_a_clear(yarn: type[ResourceManager], spark: FakeSpark) -> None:
    task = FakeTask()
    pins = resolve(task)
    run(task, pins)
    task.clear_number = 1

    run(task, pins)

    assert len(spark.calls) == 2
    assert spark.attempts[0] < spark.attempts[1]


def test_cluster_mode_refuses_airflow_credentials(
    yarn: type[ResourceManager], home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LEDGER", json.dumps({"conn_type": "generic", "password": "canary"}))
    source = home / "catalog" / "fx_close" / "sources.yaml"
    source.write_text(
        source.read_text().replace("id: warehouse\n", "id: warehouse\n  credential_ref: airflow://ledger\n")
    )
    task = FakeTask()

    with pytest.raises(AirflowFailException, match="CATALOG_004"):
        run(task, resolve(task))
    with pytest.raises(AirflowFailException, match="CATALOG_004"):
        resolve(task, deploy_mode="cluster")
    assert spark.calls == []

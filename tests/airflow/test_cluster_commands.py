"""The command of spark-submit for each kind of cluster, with a stand-in that writes down what it was given."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit as hook_module
from airflow.providers.apache.spark.operators import spark_submit as operator_module
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.runs.execution import Execution
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeSpark, FakeTask

pytestmark = pytest.mark.airflow

KUBERNETES = "k8s://https://cluster.example:6443"
SETTINGS: dict[str, Any] = {"executor_memory": "4g", "num_executors": 3, "conf": {"spark.sql.shuffle.partitions": "40"}}


def connect(monkeypatch: pytest.MonkeyPatch, host: str, **extra: str) -> None:
    connection = {"conn_type": "spark", "host": host, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("HADOOP_CONF_DIR", "/nowhere")


def submit(spark: FakeSpark, **arguments: Any) -> dict[str, Any]:
    """Run the task and return the only call of spark-submit."""
    task = FakeTask()
    pins = ResolveOperator(task_id="resolve", project="fx-close").execute(task.context("resolve"))
    RunProjectOperator(task_id="run", snapshot=pins, **arguments).execute(task.context())
    (call,) = spark.calls
    return call


def read_options(call: dict[str, Any]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return the options, the settings, and what follows the application."""
    words = call["arguments"]
    end = next(index for index, word in enumerate(words) if word.endswith("run_project.py"))
    options: dict[str, str] = {}
    settings: dict[str, str] = {}
    for name, value in zip(words[0:end:2], words[1:end:2], strict=True):
        if name == "--conf":
            key, _, text = value.partition("=")
            settings[key] = text
        else:
            options[name] = value
    return options, settings, words[end + 1 :]


@pytest.mark.parametrize(
    ("host", "extra", "arguments"),
    [
        ("local[2]", {}, {}),
        ("spark://master.example:7077", {}, {}),
        ("spark://one.example:7077,two.example:7077", {"deploy-mode": "client"}, {}),
        ("yarn", {"deploy-mode": "client", "queue": "books"}, {}),
        ("yarn", {"deploy-mode": "cluster", "queue": "books"}, {}),
        ("yarn", {"queue": "books"}, {"deploy_mode": "cluster"}),
    ],
)
def test_command_has_the_connections_cluster_and_the_tasks_settings(
    home: Path,
    spark: FakeSpark,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    extra: dict[str, str],
    arguments: dict[str, str],
) -> None:
    connect(monkeypatch, host, **extra)
    options, settings, application = read_options(submit(spark, **SETTINGS, **arguments))

    assert options["--master"] == host
    assert options.get("--deploy-mode") == (arguments.get("deploy_mode") or extra.get("deploy-mode"))
    assert options.get("--queue") == extra.get("queue")
    assert (options["--executor-memory"], options["--num-executors"]) == ("4g", "3")
    assert options["--py-files"].endswith(".zip")
    assert settings["spark.sql.shuffle.partitions"] == "40"
    assert application[0::2] == ["--snapshot", "--sha256", "--attempt", "--report"]


class Kube:
    """Stands in for Airflow's Kubernetes client: the driver's pod runs for one look, and then has succeeded."""

    class ApiException(Exception):
        """What the client raises."""

    def __init__(self) -> None:
        self.phases = ["Running"]
        self.asked: list[tuple[str, str]] = []

    def get_kube_client(self) -> Kube:
        return self

    def read_namespaced_pod(self, name: str, namespace: str) -> Any:
        self.asked.append((namespace, name))
        phase = self.phases.pop(0) if self.phases else "Succeeded"
        return SimpleNamespace(status=SimpleNamespace(phase=phase, container_statuses=[]))


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> Kube:
    client = Kube()
    monkeypatch.setattr(hook_module, "kube_client", client, raising=False)
    monkeypatch.setattr(operator_module, "kube_client", client)
    monkeypatch.setattr(hook_module.time, "sleep", lambda _: None)
    return client


def test_kubernetes_in_client_mode(home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, kube: Kube) -> None:
    connect(monkeypatch, KUBERNETES, **{"deploy-mode": "client", "namespace": "books"})
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "Exit code: 0")
    options, settings, _ = read_options(submit(spark, **SETTINGS))
    assert (options["--master"], options["--deploy-mode"]) == (KUBERNETES, "client")
    assert settings["spark.kubernetes.namespace"] == "books"
    assert kube.asked == []


def test_kubernetes_driver_is_followed_through_the_api_and_taken_up_again(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, kube: Kube
) -> None:
    connect(monkeypatch, KUBERNETES, **{"deploy-mode": "cluster", "namespace": "books"})
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "pod name: fx-1a2b-driver")
    task = FakeTask()
    pins = ResolveOperator(task_id="resolve", project="fx-close").execute(task.context("resolve"))
    settings = {"spark.kubernetes.container.image": "books/spark:4.2"}

    def run() -> Any:
        return RunProjectOperator(task_id="run", snapshot=pins, conf=settings).execute(task.context())

    with monkeypatch.context() as patch:
        # The worker dies while it follows the driver, and the registry does not learn of it.
        patch.setattr(RunProjectOperator, "poll_until_complete", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(Execution, "_record_failure", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert run()["status"] == "succeeded"
    (call,) = spark.calls
    options, found, _ = read_options(call)
    assert (options["--master"], options["--deploy-mode"]) == (KUBERNETES, "cluster")
    assert settings.items() <= found.items()
    assert found["spark.kubernetes.submission.waitAppCompletion"] == "false"
    assert set(kube.asked) == {("books", "fx-1a2b-driver")}

    task.clear_number = 1
    assert run()["status"] == "succeeded"
    assert len(spark.calls) == 2


def test_kubernetes_driver_that_a_task_has_taken_up_can_be_stopped(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, kube: Kube
) -> None:
    connect(monkeypatch, KUBERNETES, **{"deploy-mode": "cluster", "namespace": "books"})
    task = FakeTask()
    pins = ResolveOperator(task_id="resolve", project="fx-close").execute(task.context("resolve"))

    def die(operator: RunProjectOperator, *_: object) -> str:
        operator.on_kill()
        raise KeyboardInterrupt

    deleted: list[str | None] = []
    hook = hook_module.SparkSubmitHook
    monkeypatch.setattr(hook, "_delete_driver_pod", lambda self: deleted.append(self._kubernetes_driver_pod))
    monkeypatch.setattr(RunProjectOperator, "poll_until_complete", die)
    monkeypatch.setattr(Execution, "_record_failure", lambda *_: None)
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "pod name: fx-1a2b-driver")
    for _ in range(2):
        kube.phases = ["Running"]
        with pytest.raises(KeyboardInterrupt):
            RunProjectOperator(task_id="run", snapshot=pins).execute(task.context())
    assert len(spark.calls) == 1
    assert deleted == ["fx-1a2b-driver"] * 2


def test_kubernetes_without_a_namespace_is_followed_by_the_log(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, kube: Kube
) -> None:
    connect(monkeypatch, KUBERNETES, **{"deploy-mode": "cluster"})
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "Exit code: 0")
    submit(spark)
    assert kube.asked == []


def test_kubernetes_without_airflows_provider_says_what_to_install(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, KUBERNETES, **{"deploy-mode": "cluster", "namespace": "books"})
    with pytest.raises(AirflowFailException, match="install apache-airflow-providers-cncf-kubernetes"):
        submit(spark)
    assert spark.calls == []


def test_a_missing_spark_submit_is_reported_with_what_to_do(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, "yarn")
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(AirflowException, match=r"(?s)INFRA_001.*no command spark-submit.*install pyspark"):
        submit(spark)


@pytest.mark.parametrize("mode", ["client", "cluster"])
@pytest.mark.parametrize("host", ["yarn", KUBERNETES])
def test_no_secret_is_in_the_command(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, kube: Kube, host: str, mode: str
) -> None:
    connect(monkeypatch, host, **{"deploy-mode": mode})
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "Exit code: 0")
    monkeypatch.setenv("LEDGER_LOGIN", "canary-of-the-environment")
    monkeypatch.setenv("AIRFLOW_CONN_RUNTIME_DEFAULT", json.dumps({"conn_type": "runtime", "extra": {}}))
    source = home / "catalog" / "fx_close" / "sources.yaml"
    source.write_text(
        source.read_text().replace("id: warehouse\n", "id: warehouse\n  credential_ref: env://LEDGER_LOGIN\n")
    )
    call = submit(spark)
    assert "canary" not in json.dumps(call)


@pytest.mark.parametrize("host", ["local[*]", "spark://master.example:7077"])
def test_cluster_mode_where_spark_has_none_for_python_fails_at_once(
    home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    connect(monkeypatch, host, **{"deploy-mode": "cluster"})
    with pytest.raises(AirflowFailException, match=r"(?s)CATALOG_004.*use the deploy mode client"):
        submit(spark)
    assert spark.calls == []
    registry = open_registry(f"sqlite:///{home}/.runtime/registry.db")
    assert registry.list_runs() == []

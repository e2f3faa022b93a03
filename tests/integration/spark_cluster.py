"""A real standalone Spark cluster for tests: one master and its workers, from pyspark's own jars, on 127.0.0.1."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.connect_server import QUICK_JAVA

START_SECONDS = 90.0
PR_SET_PDEATHSIG = 1
CLUSTER_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
}
"""What a driver on this machine must say to use the cluster."""


@dataclass
class SparkCluster:
    """A cluster that runs; `url` is what `--master` takes."""

    url: str
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]
    folder: Path
    conf: dict[str, str] = field(default_factory=lambda: dict(CLUSTER_CONF))

    def list_executors(self) -> list[int]:
        """Return the process ids of the executors that run now."""
        return [child for worker in self.workers for child in list_children(worker.pid)]

    def list_conf_arguments(self) -> list[str]:
        """Return the settings as arguments of `airflow-runtime run` and `spark-submit`."""
        return [argument for key, value in self.conf.items() for argument in ("--conf", f"{key}={value}")]


def list_children(pid: int) -> list[int]:
    """Return the process ids of a process's children."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found.extend(int(child) for child in (task / "children").read_text().split())
    return found


@contextmanager
def start_spark_cluster(workers: int = 2, *, cores: int = 1, memory: str = "1g") -> Iterator[SparkCluster]:
    """Start a master and its workers, and stop them with all their executors at the end."""
    folder = Path(tempfile.mkdtemp(prefix="runtime-cluster-"))
    port, page = _find_ports(2)
    started: list[subprocess.Popen[bytes]] = []
    try:
        address = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        master = _start("master.Master", address, folder / "master.log")
        started.append(master)
        _wait_for_workers(page, 0, started, folder)
        url = f"spark://127.0.0.1:{port}"
        for number in range(workers):
            size = ("--host", "127.0.0.1", "--cores", str(cores), "--memory", memory, "--webui-port", "0")
            log = folder / f"worker-{number}.log"
            started.append(_start("worker.Worker", (*size, "--work-dir", str(folder / f"work-{number}"), url), log))
        _wait_for_workers(page, workers, started, folder)
        yield SparkCluster(url, master, started[1:], folder)
    finally:
        for process in reversed(started):
            _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[SparkCluster]:
    """One cluster of two workers for all tests of a session."""
    with start_spark_cluster() as cluster:
        yield cluster


def _start(name: str, arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _die_with_parent() -> None:
    """Ask Linux to end this process when its parent ends, however that happens."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a daemon, and what it started: executors live in its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def _wait_for_workers(page: int, wanted: int, processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        address = f"http://127.0.0.1:{page}/json/"
        with suppress(OSError, ValueError), urllib.request.urlopen(address, timeout=5) as answer:
            if json.load(answer)["aliveworkers"] >= wanted:
                return
        time.sleep(0.1)
    logs = "\n".join(path.read_text("utf-8", "replace")[-2000:] for path in sorted(folder.glob("*.log")))
    raise RuntimeError(f"the Spark cluster did not start:\n{logs}")


def _find_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()

"""A Spark Connect server of this user on this machine, that stays ready for runs: started, found again, stopped."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from airflow_provider_runtime.cli.spark_requirements import require_java, require_pyspark
from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.core.private_folders import make_private_folder
from spark_jobs.contract.processes import find_process

WARM = "warm"
"""The master that stands for the server."""
PORT = 15002
HOST = "localhost"
START_SECONDS = 120.0
STOP_SECONDS = 20.0
TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_started: list[subprocess.Popen[bytes]] = []
"""Kept, because nobody waits for a server: it outlives the command that started it."""
SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@dataclass(frozen=True, slots=True)
class WarmSpark:
    """A server that was started here."""

    process: int
    start: str
    """Distinguishes its process from a later one with the same number."""
    port: int
    token: str
    """Whoever reads it can run code as this user."""
    master: str
    log: str
    started_at: float

    @property
    def address(self) -> str:
        """What a client connects to."""
        return f"sc://{HOST}:{self.port}/;token={self.token}"

    @property
    def is_running(self) -> bool:
        """Whether the process still is the one that was started."""
        found = find_process(self.process)
        return found is not None and found.start == self.start and not found.has_ended


def find_warm_spark() -> WarmSpark | None:
    """Find the server that runs."""
    try:
        found = WarmSpark(**json.loads(_get_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.is_running else None


def get_warm_spark() -> WarmSpark:
    """Return the server that runs, or say how to start one."""
    found = find_warm_spark()
    if found is None:
        raise InfrastructureError(
            Problem("INFRA_001", "no warm Spark is running", "start one with `airflow-runtime spark start`")
        )
    return found


def start_warm_spark(master: str, port: int, conf: Mapping[str, str]) -> WarmSpark:
    """Start a server and wait until it answers."""
    require_pyspark()
    require_java()
    home = _find_home()
    _require_free(port)
    folder = _get_file().parent
    make_private_folder(folder)
    token = secrets.token_urlsafe(32)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **conf,
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [
        str(home / "bin" / "spark-submit"),
        "--master",
        master,
        "--class",
        SERVER_CLASS,
        *options,
        "spark-internal",
    ]
    log = folder / "warm-spark.log"
    environ = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", TOKEN_VARIABLE: token}
    with open(log, "wb", opener=_open_privately) as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environ, cwd=folder, start_new_session=True
        )
    _started.append(process)
    found = find_process(process.pid)
    server = WarmSpark(process.pid, found.start if found else "", port, token, master, str(log), time.time())
    try:
        _wait(process, port, log)
    except BaseException:
        _end(process.pid)
        raise
    with open(_get_file(), "w", encoding="utf-8", opener=_open_privately) as file:
        json.dump(asdict(server), file)
    return server


def stop_warm_spark(server: WarmSpark) -> None:
    """Stop the server and what it has started."""
    _end(server.process)
    end = time.monotonic() + STOP_SECONDS
    while server.is_running and time.monotonic() < end:
        time.sleep(0.1)
    if server.is_running:
        _end(server.process, signal.SIGKILL)
    _get_file().unlink(missing_ok=True)


def _get_file() -> Path:
    """Return where the server is written down: for this user alone."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "airflow-provider-runtime", "warm-spark.json")


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _find_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _require_free(port: int) -> None:
    if _answers(port):
        hint = "stop it, or choose another with --port"
        raise InfrastructureError(Problem("INFRA_001", f"another program listens on port {port}", hint))


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > end:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = next((line.strip() for line in reversed(lines) if "Error" in line or "Exception" in line), "")
            hint = f"Spark needs Java 17 or later; what it printed is in {log}"
            raise InfrastructureError(Problem("INFRA_001", f"Spark's server did not start: {last}".rstrip(": "), hint))
        time.sleep(0.2)


def _end(process: int, number: signal.Signals = signal.SIGTERM) -> None:
    try:
        # It is the leader of its process group.
        os.killpg(process, number)
    except ProcessLookupError:
        return

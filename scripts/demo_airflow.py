"""An Airflow of the demo's own: everything it writes is in one folder of the checkout."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
LOGIN = ("admin", "admin")
PORT = 8080
QUICK_JAVA = "-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SPARK_SETTINGS = "-Dspark.ui.enabled=false -Dspark.sql.shuffle.partitions=1"
"""Not in a file: a folder of settings on the class path would keep Java from its archive of classes."""


@dataclass
class DemoAirflow:
    """`airflow standalone` on SQLite, with Spark on this machine."""

    folder: Path
    port: int = field(default_factory=lambda: find_port(PORT))
    process: subprocess.Popen[bytes] | None = None
    _token: str | None = None

    @property
    def home(self) -> Path:
        """AIRFLOW_HOME."""
        return self.folder / "airflow"

    @property
    def url(self) -> str:
        """Address of the UI."""
        return f"http://localhost:{self.port}"

    @property
    def log(self) -> Path:
        """What all components of Airflow print."""
        return self.folder / "airflow.log"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every process: nothing is written outside the folder."""
        temporary = self.folder / "tmp"
        own = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "project"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": str(max(3, min(6, os.cpu_count() or 3))),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / "passwords.json"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{LOGIN[0]}:admin",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db",
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(find_port(8794)),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(find_port(8793)),
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
            # Jobs of a few seconds do not pay for what the JVM's second compiler costs.
            "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={temporary} {QUICK_JAVA} {SPARK_SETTINGS}",
            "NO_PROXY": "127.0.0.1,localhost",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "SPARK_LOCAL_DIRS": str(temporary),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(temporary),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        return kept | own

    def start(self) -> None:
        """Start all components and wait until they are well."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        (self.home / "passwords.json").write_text(json.dumps({LOGIN[0]: LOGIN[1]}), encoding="utf-8")
        self.process = subprocess.Popen(
            [str(BIN / "airflow"), "standalone"],
            env=self.environment,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self.folder,
        )
        (self.folder / "airflow.pid").write_text(str(self.process.pid), encoding="utf-8")
        end = time.monotonic() + 180
        while not self._is_healthy():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"Airflow did not start; the end of {self.log}:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.5)

    def stop(self) -> None:
        """Stop what was started, and nothing else."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process is not None:
                with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(self.process.pid, number)
                    self.process.wait(timeout=20)
        (self.folder / "airflow.pid").unlink(missing_ok=True)

    def _is_healthy(self) -> bool:
        try:
            health = self._send("GET", "/api/v2/monitor/health")
        except OSError:
            return False
        return all(health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor"))

    def poll(self, path: str, end: float) -> Any:
        """Ask for something again and again until a time: on a busy machine one request may not be answered."""
        while True:
            with contextlib.suppress(OSError):
                return self._ask("GET", path)
            if time.monotonic() > end or (self.process is not None and self.process.poll() is not None):
                raise SystemExit(f"Airflow does not answer any more; see {self.log}")
            time.sleep(1)

    def change(self, method: str, path: str, body: object) -> None:
        """Let Airflow's REST interface do something, once."""
        try:
            self._ask(method, path, body)
        except OSError as error:
            raise SystemExit(f"{method} {path}: Airflow did not answer ({error}); see {self.log}") from None

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        if self._token is None:
            login = {"username": LOGIN[0], "password": LOGIN[1]}
            self._token = self._send("POST", "/auth/token", login)["access_token"]
        try:
            return self._send(method, f"/api/v2{path}", body)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()[:1000]}") from None

    def _send(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        # What is not asked again is waited for longer.
        with opener.open(request, data, timeout=30 if method == "GET" else 120) as answer:
            content = answer.read()
        return json.loads(content) if content else None


def find_port(wanted: int) -> int:
    """Return a port if it is free, else any free one."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
    raise SystemExit("no port is free")


def is_running(folder: Path) -> bool:
    """Whether an Airflow of this folder is at work."""
    try:
        pid = int((folder / "airflow.pid").read_text())
        os.killpg(pid, 0)
    except (OSError, ValueError):
        return False
    return True

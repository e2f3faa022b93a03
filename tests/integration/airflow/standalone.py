"""A real Airflow for the tests: `airflow standalone` on SQLite in its own folder, asked by REST and by its commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BIN = Path(sys.executable).parent
ADMIN = "admin"
USERS = {ADMIN: "admin", "ann": "op", "ben": "op", "eve": "op", "vic": "viewer"}
"""Their passwords are their names."""
DONE = ("success", "failed")
TASKS_DONE = ("success", "failed", "upstream_failed", "skipped")


def find_free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, look: Callable[[], Any], timeout_seconds: float = 180.0, pause_seconds: float = 0.7) -> Any:
    """Return the first answer that is true."""
    end = time.monotonic() + timeout_seconds
    while True:
        if answer := look():
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout_seconds:.0f} s in vain for {what}")
        time.sleep(pause_seconds)


@dataclass
class Standalone:
    """One running Airflow."""

    home: Path
    dags: Path
    port: int = field(default_factory=find_free_port)
    extra_environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """What all components print."""
        return self.home / "standalone.log"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every Airflow process."""
        url = f"http://127.0.0.1:{self.port}"
        own = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "3",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / "passwords.json"),
            "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db",
            # A machine that does other things as well is slow to answer, which is not what is tested.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__BASE_URL": url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            # No test changes a catalog after its DAG file was parsed.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(find_free_port()),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(find_free_port()),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
            "AIRFLOW__RUNTIME__DEADLINE_CALLBACK": "late_callback.record_late",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))),
            "NO_PROXY": "127.0.0.1,localhost",
        }
        own |= self.extra_environment
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        return kept | own

    def start(self) -> None:
        """Start all components and wait until they are healthy."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "passwords.json").write_text(json.dumps({name: name for name in USERS}), encoding="utf-8")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(BIN / "airflow"), "standalone"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.home,
            )
        wait_for("Airflow to be healthy", self._is_healthy, timeout_seconds=300)

    def stop(self) -> None:
        """Stop what was started, and nothing else."""
        if self.process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(timeout=15)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def _is_healthy(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(self.log.read_text()[-4000:])
        try:
            health = self._send("GET", "/api/v2/monitor/health", None, None)
        except OSError:
            return False
        return all(
            health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor", "triggerer")
        )

    def _send(self, method: str, path: str, body: Any, token: str | None) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, data, timeout=30) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def api(self, method: str, path: str, body: Any = None, user: str = ADMIN) -> Any:
        """Ask the REST interface as one of the users."""
        if user not in self._tokens:
            login = {"username": user, "password": user}
            self._tokens[user] = self._send("POST", "/auth/token", login, None)["access_token"]
        try:
            return self._send(method, f"/api/v2{path}", body, self._tokens[user])
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:2000]}") from None

    def open(self, url: str) -> Any:
        """Follow a link of a page."""
        parts = urlsplit(url)
        return self._send("GET", f"{parts.path}?{parts.query}", None, self._tokens[ADMIN])

    def command(self, *arguments: str) -> str:
        """Run an airflow command and return what it printed."""
        done = subprocess.run(
            [str(BIN / "airflow"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def wait_for_dag(self, dag_id: str) -> None:
        """Wait until a DAG was parsed, and let it run."""
        wait_for(f"the DAG {dag_id}", lambda: dag_id in self._list_dags(), timeout_seconds=180)
        self.api("PATCH", f"/dags/{dag_id}", {"is_paused": False})

    def _list_dags(self) -> list[str]:
        return [dag["dag_id"] for dag in self.api("GET", "/dags?limit=100&exclude_stale=false")["dags"]]

    def list_runs(self, dag_id: str) -> list[dict[str, Any]]:
        """Return the runs of a DAG, the oldest first."""
        runs: list[dict[str, Any]] = self.api("GET", f"/dags/{dag_id}/dagRuns?limit=100&order_by=id")["dag_runs"]
        return runs

    def trigger(
        self, dag_id: str, partition_key: str | None = None, conf: dict[str, Any] | None = None, user: str = ADMIN
    ) -> str:
        """Trigger a run and return its id."""
        body = {"logical_date": None, "partition_key": partition_key, "conf": conf or {}}
        return str(self.api("POST", f"/dags/{dag_id}/dagRuns", body, user)["dag_run_id"])

    def wait_for_run(self, dag_id: str, run_id: str, timeout_seconds: float = 300.0) -> str:
        """Return the state in which a run ends."""

        def look() -> str | None:
            state = self.api("GET", f"/dags/{dag_id}/dagRuns/{urllib.request.quote(run_id, safe='')}")["state"]
            return state if state in DONE else None

        return str(wait_for(f"the run {run_id} of {dag_id}", look, timeout_seconds))

    def wait_for_runs(self, dag_id: str, count: int, timeout_seconds: float = 360.0) -> list[dict[str, Any]]:
        """Wait until a DAG has this many runs and all of them ended; return them."""

        def look() -> list[dict[str, Any]] | None:
            runs = self.list_runs(dag_id)
            return runs if len(runs) >= count and all(run["state"] in DONE for run in runs) else None

        return list(wait_for(f"{count} runs of {dag_id}", look, timeout_seconds))

    def list_tasks(self, dag_id: str, run_id: str) -> dict[str, dict[str, Any]]:
        """Return the task instances of a run by task id."""
        quoted = urllib.request.quote(run_id, safe="")
        found = self.api("GET", f"/dags/{dag_id}/dagRuns/{quoted}/taskInstances")["task_instances"]
        return {task["task_id"]: task for task in found}

    def read_log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1) -> str:
        """Return the text of a task's log."""
        quoted = urllib.request.quote(run_id, safe="")
        path = f"/dags/{dag_id}/dagRuns/{quoted}/taskInstances/{task_id}/logs/{try_number}?full_content=true"
        return json.dumps(self.api("GET", path), ensure_ascii=False)

    def read_unfolded_log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1) -> list[str]:
        """Return the lines of a task's log that a person sees before opening any group of it."""
        content = json.loads(self.read_log(dag_id, run_id, task_id, try_number))["content"]
        seen, depth = [], 0
        for event in (entry["event"] if isinstance(entry, dict) else entry for entry in content):
            if event.startswith("::group::"):
                seen += [event] if depth == 0 else []
                depth += 1
            elif event.startswith("::endgroup::"):
                depth -= 1
            elif depth == 0:
                seen += event.strip().splitlines()
        return seen

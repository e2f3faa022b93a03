"""The same snapshots on a Spark Connect server as on a Spark of one's own: same rows, same ids."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeTask

pytestmark = [pytest.mark.integration, pytest.mark.spark]

START_SECONDS = 90.0
STAMP = "2026-02-01T00:00:00Z"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server on this machine; yields its port."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home, folder = Path(found.origin).parent, tmp_path_factory.mktemp("connect")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    kind = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [home / "bin" / "spark-submit", "--master", "local[2]", "--class", kind, *options, "spark-internal"]
    log = folder / "server.log"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder, start_new_session=True
        )
    try:
        wait_for_port(port, process, log)
        yield port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter project, with row ids in its output, run once on a Spark of its own; what it wrote is set aside."""
    folder = tmp_path_factory.mktemp("books") / "project"
    assert call(folder.parent, "init", str(folder)).returncode == 0
    definition = folder / "catalog" / "fx_conversion.yaml"
    text = definition.read_text().replace("columns: [journal_id,", "columns: [_row_id, journal_id,")
    assert "_row_id" in text
    definition.write_text(text)
    done = run(folder, "local[2]")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "warehouse").rename(folder / "expected")
    (folder / "report.json").rename(folder / "expected.json")
    return folder


def run(folder: Path, master: str, *more: str) -> subprocess.CompletedProcess[str]:
    options = ("--project", "fx-conversion", "--period", "2026-01", "--timestamp", STAMP, "--master", master)
    return call(folder, "run", *options, "--report", "report.json", *more)


def read(folder: Path, table: str) -> list[tuple[Any, ...]]:
    return sorted(duckdb.sql(f"FROM read_parquet('{folder}/{table}/**/*.parquet')").fetchall(), key=str)


def read_counts(report: Path) -> list[tuple[int, int, int]]:
    operations = json.loads(report.read_text())["operations"]
    return [(operation["seq"], operation["rows_affected"], operation["rows_after"]) for operation in operations]


def check_equal(project: Path, made: Path) -> None:
    for table in ("transactions_usd", "account_totals"):
        rows = read(project / "expected", table)
        assert rows
        assert read(made, table) == rows


def test_the_command_runs_on_a_server_with_the_same_result(project: Path, server: int) -> None:
    done = run(project, f"sc://127.0.0.1:{server}")
    assert done.returncode == 0, done.stdout + done.stderr
    check_equal(project, project / "warehouse")
    counts = [read_counts(project / name) for name in ("expected.json", "report.json")]
    assert counts[0] == counts[1]


def test_an_error_of_the_data_is_told_as_ever(project: Path, server: int) -> None:
    source = project / "data" / "transactions" / "2026-01.csv"
    before = source.read_text()
    source.write_text(before + "JE-X,4000,EUR,a lot\n")
    try:
        done = run(project, f"sc://127.0.0.1:{server}", "--registry", "sqlite:///other.db")
    finally:
        source.write_text(before)
    assert done.returncode == 1
    assert "DATA_003" in done.stdout + done.stderr
    assert "a lot" in done.stdout + done.stderr


def test_a_server_that_is_not_there_is_an_error_with_a_code(project: Path) -> None:
    done = run(project, "sc://127.0.0.1:1", "--registry", "sqlite:///other.db")
    assert done.returncode == 1
    assert "INFRA_001" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_task_with_a_connection_to_a_server_runs_there(
    project: Path, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    address = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server}
    monkeypatch.setenv("AIRFLOW_CONN_WARM", json.dumps(address))
    (project / "warehouse").rename(tmp_path / "of-the-command")
    task = FakeTask()
    resolve = ResolveOperator(task_id="resolve", project="fx-conversion", catalog=str(project / "catalog"))
    task.xcom["resolve"] = resolve.execute(task.context("resolve"))
    operator = RunProjectOperator(task_id="run", snapshot=task.xcom["resolve"], conn_id="warm")
    operator.execute(task.context())
    columns = "journal_id, account, currency, amount_local, amount_usd"
    rows = [
        sorted(duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/transactions_usd/**/*.parquet')").fetchall())
        for folder in (project / "expected", project / "warehouse")
    ]
    assert rows[0] == rows[1]

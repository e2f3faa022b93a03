"""The warm Spark: how it is found again, and what is said when there is none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airflow_provider_runtime.cli import warm_spark
from airflow_provider_runtime.cli.warm_spark import WarmSpark, find_warm_spark
from airflow_provider_runtime.core.errors import InfrastructureError
from spark_jobs.contract.processes import find_process
from tests.command_line import invoke


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "airflow-provider-runtime"
    folder.mkdir()
    return folder


def write(cache: Path, *, start: str | None = None) -> None:
    """Write this very process down as the server."""
    found = find_process(os.getpid())
    assert found is not None
    state = [os.getpid(), start or found.start, 15002, "t0ken", "local[2]", "server.log", 1767225600.0]
    fields = ("process", "start", "port", "token", "master", "log", "started_at")
    (cache / "warm-spark.json").write_text(json.dumps(dict(zip(fields, state, strict=True))))


def test_running_server_is_found_by_its_process(cache: Path) -> None:
    write(cache)
    found = find_warm_spark()
    assert found is not None
    assert found.address == "sc://localhost:15002/;token=t0ken"
    told = invoke("spark", "status").output
    assert "since 2026-01-01 00:00 UTC on port 15002, master local[2]" in told
    assert "t0ken" not in told
    assert "it runs already, on port 15002" in invoke("spark", "start").output


def test_connection_of_airflow_holds_the_token(cache: Path) -> None:
    write(cache)
    described = json.loads(invoke("spark", "connection").stdout)
    assert described == {"conn_type": "spark_connect", "host": "localhost", "port": 15002, "password": "t0ken"}


@pytest.mark.parametrize("left", ["another process", "garbage", "nothing"])
def test_server_that_is_gone_is_not_found(left: str, cache: Path) -> None:
    if left == "another process":
        write(cache, start="1")
    elif left == "garbage":
        (cache / "warm-spark.json").write_text("{")
    assert find_warm_spark() is None
    status = invoke("spark", "status")
    assert (status.exit_code, status.output) == (1, "no warm Spark is running\n")
    assert invoke("spark", "stop").output == "no warm Spark is running\n"
    refused = invoke("spark", "connection")
    assert refused.exit_code == 1
    assert "start one with `airflow-runtime spark start`" in refused.output


def test_port_of_another_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_spark, "_answers", lambda _: True)
    with pytest.raises(InfrastructureError, match="another program listens on port 15002"):
        warm_spark.start_warm_spark("local[1]", 15002, {})


def test_token_is_written_for_this_user_alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    monkeypatch.setattr(warm_spark, "_answers", lambda _: next(answers))
    binary = cache / "spark" / "bin" / "spark-submit"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\nexec sleep 60\n")
    binary.chmod(0o755)
    monkeypatch.setattr(warm_spark, "_find_home", lambda: cache / "spark")

    made: WarmSpark = warm_spark.start_warm_spark("local[1]", 15002, {})
    try:
        assert find_warm_spark() == made
        assert (cache / "warm-spark.json").stat().st_mode & 0o077 == 0
        command = Path(f"/proc/{made.process}/cmdline").read_bytes().decode()
        assert made.token not in command
    finally:
        warm_spark.stop_warm_spark(made)
    assert find_warm_spark() is None

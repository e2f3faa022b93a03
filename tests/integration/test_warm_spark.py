"""A run on the warm Spark, which lets nobody in without its token."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
STRANGER = """
from pyspark.sql import SparkSession
SparkSession.builder.remote("sc://localhost:{port}").getOrCreate().range(3).count()
"""


def test_run_on_the_warm_spark_and_none_without_its_token(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    call(tmp_path, "airflow-runtime", "init", "books")
    books = tmp_path / "books"
    call(books, "airflow-runtime", "spark", "start", "--master", "local[1]", "--port", str(port), **environment)
    try:
        told = call(
            books, "airflow-runtime", "run", "--project", "fx-conversion", "--period", "2026-01", "--master", "warm",
            **environment,
        )  # fmt: skip
        assert "warehouse/account_totals" in told
        stranger = subprocess.run(
            [sys.executable, "-c", STRANGER.format(port=port)], capture_output=True, text=True, timeout=120, check=False
        )
        assert stranger.returncode != 0
        assert "UNAUTHENTICATED" in stranger.stderr
    finally:
        assert "stopped" in call(books, "airflow-runtime", "spark", "stop", **environment)
    assert "no warm Spark" in call(books, "airflow-runtime", "spark", "status", status=1, **environment)

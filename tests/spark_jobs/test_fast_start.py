"""The archive of classes with a real Java: used when it fits, left aside when it is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_runtime.fast_start.home import find_quick_home

pytestmark = pytest.mark.spark

PROGRAM = """
from airflow_provider_runtime.cli.local_spark import start_spark
spark = start_spark("local[1]", {"spark.driver.memory": "512m"})
java = spark._jvm.java.lang
options = list(java.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
print("ROWS", spark.range(5).count())
print("ARCHIVE", any("SharedArchiveFile" in option for option in options))
print("HOME", java.System.getenv("SPARK_HOME"))
spark.stop()
"""


def start(cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "AIRFLOW_RUNTIME_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spark_starts_from_the_links_and_without_an_archive_that_is_broken(tmp_path: Path) -> None:
    home = find_quick_home({**os.environ, "AIRFLOW_RUNTIME_CACHE": str(tmp_path)})
    assert home is not None
    home.failure.write_text("no training in this test")
    broken = home.folder / "classes-11-0.jsa"
    broken.write_text("not classes")
    said = start(tmp_path)
    assert "ROWS 5" in said
    # Java either stops at such a file, and Spark is started again without it, or leaves it aside.
    assert not broken.exists() or "ARCHIVE True" in said
    assert str(home.folder) in said or not broken.exists()
    broken.unlink(missing_ok=True)
    assert f"HOME {home.folder}" in start(tmp_path)

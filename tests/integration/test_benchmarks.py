"""The measurements run and their implementations agree; how long they take is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.spark]

PIPELINES = ["close", "statements", "checks", "groups"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "parts",
    [
        ["planning"],
        pytest.param(
            [*PIPELINES, "growth", "warm", "small", "limits", "planning", "why", "tables"], marks=pytest.mark.chaos
        ),
    ],
)
def test_small_measurements_agree_and_make_a_page(tmp_path: Path, parts: list[str]) -> None:
    page = tmp_path / "RESULTS.md"
    options = ["--sizes", "2e3", "--repeats", "1", "--growth-size", "2e3", "--quick", "--only"]
    options += parts
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "benchmarks" / "run.py"),
            *options,
            "--work",
            str(tmp_path),
            "--results",
            str(page),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    names = ("pyspark_by_hand", "engine", "duckdb_by_hand", "aggregates", "outputs")
    for name in names if "close" in parts else ():
        assert f"| {name} |" in text
    assert "| plan of 5 updates |" in text
    assert ("| delta |" in text) is ("tables" in parts)

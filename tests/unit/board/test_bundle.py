"""The bundle that is committed is the one that the sources make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "airflow_provider_runtime" / "board" / "static"


@pytest.mark.integration
def test_bundle_is_what_the_sources_make(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / "scripts" / "board", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "board.js").read_bytes() == (STATIC / "board.js").read_bytes()

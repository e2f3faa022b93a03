"""The long form of the tests of hostile input: a fuzzer that learns which bytes lead to code not seen before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.chaos

ROOT = Path(__file__).parents[2]
SEEDS = {
    "yaml": ROOT / "dags_examples" / "catalog" / "fx_close",
    "expression": ROOT / "tests" / "unit" / "core" / "expr" / "golden",
    "snapshot": ROOT / "tests" / "unit" / "core" / "planning" / "golden",
}


@pytest.fixture(scope="module")
def atheris(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fuzzer, installed apart: it has wheels for some versions of Python only."""
    folder = tmp_path_factory.mktemp("atheris")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "-q", "--python", sys.executable, "--target", folder, "atheris"]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("atheris cannot be installed for this Python")
    return folder


@pytest.mark.parametrize("kind", SEEDS)
def test_fuzzer_finds_no_exception_hang_or_memory(atheris: Path, tmp_path: Path, kind: str) -> None:
    """RUNTIME_FUZZ_SECONDS chooses another length."""
    seconds = int(os.environ.get("RUNTIME_FUZZ_SECONDS", "300"))
    limits = [
        f"-max_total_time={seconds}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={tmp_path}/",
        "-max_len=4096",
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.fuzz_inputs", kind, *limits, str(tmp_path), str(SEEDS[kind])],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{atheris}"},
        check=False,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]

"""Tests that share a service run in one process of `make test`; otherwise each process would start it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import find_group

TESTS = Path(__file__).parents[1]
HOOK = "pytest_xdist_make_scheduler"
TEST = "import pytest\n\n@pytest.mark.parametrize('n', range(6))\ndef test(n): pass\n"


@pytest.mark.parametrize("fixture", ["airflow: Standalone", "connect_server: int"])
def test_files_that_use_a_service_are_of_one_group(fixture: str) -> None:
    users = [file for file in TESTS.rglob("test_*.py") if fixture in file.read_text("utf-8") and file != Path(__file__)]
    assert {find_group(f"{file.relative_to(TESTS.parent).as_posix()}::test[a::b]") for file in users} == {"airflow"}


def test_tests_of_a_file_stay_together(tmp_path: Path) -> None:
    """With the real xdist, whose own groups were lost with a version of pytest."""
    lines = ("import sys", f"sys.path.insert(0, {str(TESTS.parent)!r})", f"from tests.conftest import {HOOK}")
    (tmp_path / "conftest.py").write_text("\n".join(lines))
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    placed = set(re.findall(r"^\[(gw\d)\].* (test_[ab])\.py::test", run.stdout, re.MULTILINE))
    assert sorted(name for _, name in placed) == ["test_a", "test_b"], run.stdout

"""The generated documents are current, and complete."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))

from error_cases import CASES, Case  # noqa: E402
from errors import find_problem  # noqa: E402

from spark_jobs.contract import codes  # noqa: E402


def make_pages() -> dict[Path, str]:
    return runpy.run_path(str(ROOT / "scripts" / "docs" / "__main__.py"))["make_pages"]()


def test_generated_documents_are_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in make_pages().items() if path.read_text("utf-8") != text]
    assert not stale, f"run: make docs ({', '.join(stale)})"


@pytest.mark.parametrize("case", [case for case in CASES if not case.sample], ids=lambda case: case.code)
def test_error_example_gives_its_code(case: Case) -> None:
    assert find_problem(case).code == case.code


def test_every_error_code_is_documented_once() -> None:
    assert sorted(case.code for case in CASES) == sorted(codes.FAMILIES)

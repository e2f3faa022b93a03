"""The generated documents are current, and complete."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))

from error_cases import CASES, Case  # noqa: E402
from errors import find_problem  # noqa: E402

CODE = re.compile(
    r"\"((?:CATALOG|PROJECT|PERIOD|DATASET|SELECTOR|EXPR|UPDATE|JOIN|AGG|APPEND|OUTPUT|RESOLVE|DATA|RUN|SNAPSHOT|INFRA)"
    r"_[0-9]{3})\""
)


def make_pages() -> dict[Path, str]:
    return runpy.run_path(str(ROOT / "scripts" / "docs" / "__main__.py"))["make_pages"]()


def test_generated_documents_are_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in make_pages().items() if path.read_text("utf-8") != text]
    assert not stale, f"run: make docs ({', '.join(stale)})"


@pytest.mark.parametrize("case", [case for case in CASES if not case.sample], ids=lambda case: case.code)
def test_error_example_gives_its_code(case: Case) -> None:
    assert find_problem(case).code == case.code


def test_every_error_code_of_the_sources_is_documented() -> None:
    folders = [ROOT / "airflow_provider_runtime", ROOT / "spark_jobs"]
    used = {
        code
        for folder in folders
        for path in folder.rglob("*.py")
        if path.name != "codes.py"
        for code in CODE.findall(path.read_text("utf-8"))
    }
    assert used - {case.code for case in CASES} == set()
    assert len({case.code for case in CASES}) == len(CASES)

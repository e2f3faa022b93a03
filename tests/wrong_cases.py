"""Tables of wrong documents: each case is a text with a mark at the place of its one problem, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_runtime.core.errors import Problem

MARK = "«"


def read_cases(table: Path) -> list[Any]:
    """Return the cases of a table as parameters, each with the keys of its group."""
    return [
        pytest.param({**group, **case}, id=f"{group['group']}: {case['case']}")
        for group in yaml.safe_load_all(table.read_text("utf-8"))
        for case in group["cases"]
    ]


def take_mark(text: str) -> tuple[str, tuple[int, int]]:
    """Return the text without its first mark, and the line and column that the mark stood at."""
    before, mark, after = text.partition(MARK)
    assert mark, text
    return before + after, (before.count("\n") + 1, len(before) - before.rfind("\n"))


def check_words(problem: Problem, code: str, message: str, hint: str = "") -> None:
    """Compare what a problem says."""
    assert problem.code == code, problem
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert not problem.message.endswith(".")

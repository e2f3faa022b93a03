"""Wrong operations, one mistake each: what is said, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.core.planning.project_builder import check_operations
from tests.wrong_cases import check_words, read_cases


@pytest.mark.parametrize("case", read_cases(Path(__file__).with_name("wrong_projects.yaml")))
def test_wrong_operation_gives_one_problem_at_its_place(case: dict[str, Any]) -> None:
    operations = [line.removeprefix("- ") for line in case["operations"].splitlines()]
    checked = check_operations(*operations, selectors="EMEA: 'orders.region = \"EMEA\"'")
    assert [problem.code for problem in checked.problems] == [case["error"][0]], checked.problems
    (problem,) = checked.problems
    check_words(problem, *case["error"])
    place = problem.location
    assert (place.file, place.line, place.column) == ("project.yaml", *checked.expected_places[0])
    inner = case["field"] if case["field"] in ("selector", "from", "arguments") else f"arguments.{case['field']}"
    assert place.field in [f"operations[{index}].{inner}" for index in range(len(operations))]
    assert place.project == "close"
    assert place.operation_seq is not None

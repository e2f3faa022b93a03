"""Wrong uses of words of the language and of operations' keys: all that is said, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from airflow_provider_runtime.cli.validate import command as validate
from airflow_provider_runtime.core.catalog.loader import load_texts
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.planning.check.project import ProjectChecks
from tests.unit.core.planning.project_builder import CATALOG, HEAD, MARK, aggregate, output, update
from tests.wrong_cases import check_words

TABLE = Path(__file__).with_name("wrong_words.yaml")
CASES = [case for group in yaml.safe_load_all(TABLE.read_text("utf-8")) for case in group["cases"]]
SELECTORS = "  selectors: {EMEA: 'orders.region = \"EMEA\"'}\n  operations:"


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write_operation(case: dict[str, str]) -> str:
    if "value" in case:
        return update(quote(case["value"]))
    if "sum" in case:
        return aggregate(quote(case["sum"]), group_by="[]")
    return case["operation"]


def find_problems(*operations: str) -> tuple[list[Problem], list[tuple[int, int]]]:
    """Return what is wrong with a project of these operations, and the places that its text marks."""
    text = HEAD.replace("  operations:", SELECTORS) + "".join(f"    - {operation}\n" for operation in operations)
    places = []
    while MARK in text:
        before, _, after = text.partition(MARK)
        places.append((before.count("\n") + 1, len(before) - before.rfind("\n")))
        text = before + after
    loaded = load_texts({"catalog.yaml": CATALOG, "project.yaml": text})
    project = loaded.catalog.find_project("close")
    checked = () if project is None else ProjectChecks(loaded.catalog).check(project).problems
    return [*loaded.problems, *checked], places


@pytest.mark.parametrize("case", CASES, ids=lambda case: next(iter(case.values())))
def test_wrong_word_is_reported_at_its_place(case: dict[str, str]) -> None:
    operation = write_operation(case)
    problems, places = find_problems(operation, *([] if "type: output" in operation else [output()]))
    expected = case["errors"] if "errors" in case else [case["error"]]
    assert [problem.code for problem in problems] == [error[0] for error in expected], problems
    for problem, words in zip(problems, expected, strict=True):
        check_words(problem, *words)
    assert [(problem.location.line, problem.location.column) for problem in problems] == places
    assert all(problem.location.file == "project.yaml" for problem in problems)


def test_all_wrong_values_of_a_project_are_reported_at_once() -> None:
    cases = [case for case in CASES if "value" in case or "sum" in case]
    operations = []
    for seq, case in enumerate(cases, 1):
        text = write_operation(case).replace("seq: 10", f"seq: {seq}").replace("column: total", f"column: c{seq}")
        operations.append(text)
    problems, places = find_problems(*operations, output(seq=len(cases) + 1))
    assert [(problem.location.line, problem.location.column) for problem in problems] == places
    assert len(problems) > 150


def test_command_reports_all_of_them_without_a_traceback(tmp_path: Path) -> None:
    values = [case["value"].replace(MARK, "") for case in CASES if "value" in case]
    lines = [update(quote(text), f"c{at}", seq=at) for at, text in enumerate(values, 1)]
    project = HEAD + "".join(f"    - {line}\n" for line in [*lines, output(seq=len(lines) + 1)])
    (tmp_path / "catalog.yaml").write_text(CATALOG, "utf-8")
    (tmp_path / "project.yaml").write_text(project, "utf-8")
    result = CliRunner().invoke(validate, ["--catalog", str(tmp_path), "--strict", "--format", "json"])
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["valid"] is False
    assert {error["operation_seq"] for error in answer["errors"]} == set(range(1, len(lines) + 1))

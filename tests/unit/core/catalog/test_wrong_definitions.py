"""Wrong definitions, one mistake each: what is said, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.core.catalog.builders import GL, LAKE, PROJECT, RESOLVER, load
from tests.wrong_cases import check_words, read_cases, take_mark

GOOD = {"datasource": LAKE, "resolver": RESOLVER, "dataset": GL, "project": PROJECT}


def make_text(case: dict[str, Any]) -> str:
    if "text" in case:
        return str(case["text"])
    kind, old, new = case["change"]
    assert GOOD[kind].count(old) == 1
    return GOOD[kind].replace(old, new)


@pytest.mark.parametrize("case", read_cases(Path(__file__).with_name("wrong_definitions.yaml")))
def test_wrong_definition_gives_one_problem_at_its_place(case: dict[str, Any]) -> None:
    text, place = take_mark(make_text(case))
    problems = load(text, *(GOOD[kind] for kind in case["beside"])).problems
    assert [problem.code for problem in problems] == [case["error"][0]]
    found = problems[0].location
    assert (found.file, found.line, found.column) == ("wrong.yaml", *place)
    check_words(problems[0], *case["error"])


@pytest.mark.parametrize("key", ["pasword", '"pass wrd"', "conection"])
@pytest.mark.parametrize("value", ["canary", "[canary]", "postgresql:canary", "'canary'  # mine"])
def test_value_of_an_unknown_key_is_not_shown(key: str, value: str) -> None:
    (problem,) = load(f"datasource:\n  id: x\n  {key}: {value}\n  type: csv\n").problems
    assert problem.location.source_line == f"  {key}: …"


def test_valid_definitions_have_no_problem() -> None:
    assert load(PROJECT, LAKE, RESOLVER, GL).problems == ()

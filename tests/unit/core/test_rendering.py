"""Problems as text, JSON and annotations; near names and short lists."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.core.errors import DataError, DefinitionError, Place, Problem, get_error_class
from airflow_provider_runtime.core.rendering import (
    problem_to_json,
    render_github,
    render_problem,
    render_problems,
    sort_problems,
)
from airflow_provider_runtime.core.suggest import find_nearest, list_names, suggest

PLACE = Place("p.yaml", 7, 5, 9, "fx", 10, "selector", source_line="    amnt > 2")
PROBLEM = Problem("EXPR_002", "unknown column 'amnt'", "did you mean 'amount'?", PLACE)


def test_problem_rendered_shows_place_caret_and_hint() -> None:
    assert render_problem(PROBLEM).splitlines() == [
        "EXPR_002 unknown column 'amnt'",
        "  --> p.yaml:7:5 (fx: operation 10, selector)",
        "  |",
        "7 |     amnt > 2",
        "  |     ^^^^",
        "  hint: did you mean 'amount'?",
    ]


def test_problem_rendered_in_color_only_when_asked() -> None:
    assert "\033[" in render_problem(PROBLEM, color=True)
    assert "\033[" not in render_problem(PROBLEM)


def test_problem_as_json_has_the_promised_keys() -> None:
    assert list(problem_to_json(PROBLEM)) == [
        "code", "severity", "message", "hint", "file", "line", "column", "project", "operation_seq", "field",
    ]  # fmt: skip


def test_problem_as_annotation_escapes_line_breaks_and_commas() -> None:
    problem = Problem("CATALOG_002", "a\nb", None, Place("x,y.yaml", 2, 3))
    assert render_github(problem, "cat") == "::error file=cat/x%2Cy.yaml,line=2,col=3,title=CATALOG_002::a%0Ab"


@given(st.text(max_size=80), st.text(max_size=80), st.integers(0, 90), st.integers(0, 90))
def test_problem_of_any_text_renders_without_control_characters(message: str, line: str, start: int, end: int) -> None:
    location = Place("f.yaml", 1, start + 1, end + 1, source_line=line)
    shown = render_problem(Problem("CATALOG_002", message, None, location))
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert len(shown.splitlines()) <= 5


def test_problems_sorted_are_in_order_of_places_and_unique() -> None:
    later = Problem("A", "x", None, Place("p.yaml", 8))
    assert sort_problems([later, PROBLEM, later]) == [PROBLEM, later]


def test_problems_rendered_name_the_page_that_explains_them_once() -> None:
    shown = render_problems([PROBLEM, PROBLEM.at(line=9)])
    assert shown.splitlines()[-1] == "explained in docs/errors.md: #expr_002"
    assert render_problems([]) == ""


def test_error_pickled_keeps_its_problems() -> None:
    error = pickle.loads(pickle.dumps(DefinitionError([PROBLEM])))  # noqa: S301
    assert error.problems == (PROBLEM,)
    assert error.code == "EXPR_002"


def test_error_class_of_code_is_its_family() -> None:
    assert get_error_class("JOIN_010") is DataError
    assert get_error_class("JOIN_001") is DefinitionError


def test_nearest_name_ignores_case_and_refuses_what_is_far() -> None:
    assert find_nearest("AMOUNT", ["amount"]) == "amount"
    assert find_nearest("zzz", ["amount"]) is None


def test_list_of_names_is_bounded() -> None:
    assert list_names([str(number) for number in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    assert suggest("x", []) is None

"""Small files whose checks once took minutes: the steps of each check grow with the file, not with its square."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.templates import find_template_faults
from airflow_provider_runtime.core.planning.check.validation import Validation, validate_catalog
from airflow_provider_runtime.core.suggest import suggest
from tests.effort import count_steps
from tests.unit.core.catalog.builders import LAKE, RESOLVER

MOST_GROWTH = 2.6
"""Twice the file may take this many times the steps: twice, and a little for what is sorted."""
TABLE = "{{table_name}}.parquet"
MOST_STEPS_OF_A_HINT = 250_000


def make_resolver(path: str) -> str:
    return RESOLVER.replace(TABLE, path)


def make_dataset(name: str, columns: Iterable[str] = ("a",), extra: str = "") -> str:
    listed = ", ".join(f"{{name: {column}, type: string}}" for column in columns)
    main_table = f"  main_table: {{name: t, temporal_mode: period, columns: [{listed}]}}\n"
    return f"dataset:\n  id: {name}\n  name: {name}\n  version: 1\n{main_table}{extra}"


def make_lookup(target: str) -> str:
    condition = "join_conditions: [{source_column: a, target_column: a}]"
    return f"  lookups: [{{alias: l, target: {{type: dataset, id: {target}}}, {condition}}}]\n"


def make_project(name: str, source: str, operations: Iterable[str], extra: str = "") -> str:
    head = f"project:\n  id: {name}\n  name: {name}\n  version: 1\n  input_dataset_id: {source}\n{extra}"
    return head + "  operations:\n" + "".join(f"    - {operation}\n" for operation in operations)


def make_output(seq: int, path: str, extra: str = "") -> str:
    destination = f"destination: {{datasource_id: lake, path: {path}}}"
    return f"{{seq: {seq}, name: o, type: output, arguments: {{{destination}{extra}}}}}"


def make_assignments(seq: int, names: Iterable[str]) -> str:
    listed = ", ".join(f"{{column: {name}, expression: '1'}}" for name in names)
    return f"{{seq: {seq}, name: u, type: update, arguments: {{assignments: [{listed}]}}}}"


def make_chain(length: int, end: str) -> list[str]:
    """Return projects of which each reads what the next one registers, and the last one `end`."""
    return [
        make_project(
            f"p{number}",
            f"R{number + 1}" if number < length - 1 else end,
            [make_output(1, f"o{number}", f", register_as_dataset: R{number}")],
        )
        for number in range(length)
    ]


def make_levels(length: int) -> str:
    return "calendar:\n  id: c\n  levels:\n" + "".join(f"    - {{name: l{number}}}\n" for number in range(length))


def make_url(url: str) -> str:
    return f'datasource: {{id: db, type: jdbc, options: {{url: "{url}"}}}}\n'


BASE = [LAKE, RESOLVER, make_dataset("d")]
CASES: dict[str, tuple[int, Callable[[int], list[str]], Callable[[int], list[str]]]] = {
    "assignments": (
        300,
        lambda size: [*BASE, make_project("p", "d", [make_assignments(1, (f"c{n}" for n in range(size)))])],
        lambda size: [],
    ),
    "outputs": (
        150,
        lambda size: [*BASE, make_project("p", "d", (make_output(n + 1, f"o{n}") for n in range(size)))],
        lambda size: [],
    ),
    "circle of lookups": (
        150,
        lambda size: [LAKE, RESOLVER]
        + [make_dataset(f"d{n}", extra=make_lookup(f"d{(n + 1) % size}")) for n in range(size)],
        lambda size: ["CATALOG_002"],
    ),
    "chain of lookups": (
        150,
        lambda size: [LAKE, RESOLVER, make_dataset(f"d{size}")]
        + [make_dataset(f"d{n}", extra=make_lookup(f"d{n + 1}")) for n in range(size)],
        lambda size: [],
    ),
    "levels": (300, lambda size: [make_levels(size)], lambda size: []),
    "chain of projects": (40, lambda size: [*BASE, *make_chain(size, "d")], lambda size: []),
    "circle of projects": (40, lambda size: [LAKE, RESOLVER, *make_chain(size, "R0")], lambda size: ["DATASET_001"]),
}  # fmt: skip
LONG_TEXTS = {
    "path of a token and blanks": make_resolver("{{" + " " * 200_000),
    "path of braces": make_resolver("{{" * 50_000),
    "path of unknown tokens": make_resolver("{{bogus}}" * 50_000),
    "url of slashes": make_url("//a:" * 50_000),
    "url of Oracle": make_url("jdbc:oracle:a:b" * 30_000),
}
"""Texts for regular expressions: one that backtracks makes the test run into its timeout."""


def validate(folder: Path, documents: Iterable[str]) -> Validation:
    (folder / "catalog.yaml").write_text("---\n".join(documents))
    return validate_catalog(folder)


@pytest.mark.parametrize("case", CASES)
def test_steps_of_a_check_grow_with_the_file(tmp_path: Path, case: str) -> None:
    size, make, codes = CASES[case]
    found: list[str] = []

    def check(documents: list[str]) -> None:
        problems = validate(tmp_path, documents).problems
        found[:] = [problem.code for problem in problems if not problem.code.startswith("WARN")]

    check(make(size))
    steps = []
    for chosen in (size, 2 * size):
        documents = make(chosen)
        steps.append(count_steps(lambda texts=documents: check(texts)))
        assert found == codes(chosen)
    assert steps[1] < MOST_GROWTH * steps[0]


@pytest.mark.parametrize("case", LONG_TEXTS)
def test_long_text_is_searched_once(tmp_path: Path, case: str) -> None:
    found = validate(tmp_path, [LAKE, LONG_TEXTS[case]] if "path" in case else [LONG_TEXTS[case]])
    assert [problem.code for problem in found.problems] == ["CATALOG_002"]


def test_mistakes_in_a_long_expression_with_blanks_are_placed(tmp_path: Path) -> None:
    names = (" " * 300).join(f"x{n} +" for n in range(1000)) + " 1"
    update = make_assignments(1, ["a"]).replace("'1'", f"'{names}'")
    found = validate(tmp_path, [*BASE, make_project("p", "d", [update])])
    assert len(found.problems) == 1000
    line = next(line for line in (tmp_path / "catalog.yaml").read_text().splitlines() if "x999" in line)
    assert found.problems[999].location.column == line.index("x999") + 1


def test_blanks_between_braces_are_passed_over_once() -> None:
    for text in ("{{x" + " " * 30_000 + "y " + " " * 30_000 + "z}", "{{" + " " * 30_000):
        assert [fault.message for fault in find_template_faults(text)] == ["half of a template token"]
    assert [fault.message for fault in find_template_faults("{{ a }}{{ YYYY }}")] == [
        "unknown template token '{{ a }}'"
    ]


@pytest.mark.parametrize("start", ["c", "column_of_", "a" * 180])
@pytest.mark.parametrize("count", [50, 800, 1900, 4000])
def test_steps_of_a_hint_have_a_limit_however_many_names_there_are(start: str, count: int) -> None:
    known = [f"{start}{number}" for number in range(count)]
    for name in (f"{start}x", f"b{start}x1"):
        assert count_steps(lambda name=name: suggest(name, known)) < MOST_STEPS_OF_A_HINT


@pytest.mark.parametrize("count", [5, 150, 1500])
def test_hint_is_given_for_a_misspelt_name_among_many(count: int) -> None:
    known = [f"column_of_ledger_{number}" for number in range(count)]
    assert suggest("colunm_of_ledger_1", known) == "did you mean 'column_of_ledger_1'?"


def test_first_of_two_outputs_that_overlap_is_reported(tmp_path: Path) -> None:
    paths = ["a/b", "a/b/c", "x", "a", "x/y/z", "ab"]
    outputs = [make_output(number + 1, path) for number, path in enumerate(paths)]
    found = validate(tmp_path, [*BASE, make_project("p", "d", outputs)])
    assert [problem.message for problem in found.problems] == [
        "output 2 meets output 1: it is inside the folder lake/a/b",
        "output 4 meets output 1: it holds the folder lake/a/b",
        "output 5 meets output 3: it is inside the folder lake/x",
    ]


def test_each_circle_of_lookups_is_reported_at_its_first_dataset(tmp_path: Path) -> None:
    targets = {"a": "c", "b": "c", "c": "b", "d": "d"}
    datasets = [make_dataset(name, extra=make_lookup(target)) for name, target in targets.items()]
    found = validate(tmp_path, [LAKE, RESOLVER, *datasets])
    assert [problem.message for problem in found.problems] == [
        "lookups form a cycle: b -> c -> b",
        "lookups form a cycle: d -> d",
    ]

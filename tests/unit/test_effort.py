"""Small files whose checks once took minutes: each is checked in time that grows with its size."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.templates import find_template_faults
from airflow_provider_runtime.core.planning.check.validation import Validation, validate_catalog
from airflow_provider_runtime.core.suggest import suggest
from tests.unit.core.catalog.builders import LAKE, RESOLVER

MOST_SECONDS = 15
TABLE = "{{table_name}}.parquet"
OTHER_RESOLVER = RESOLVER.replace("  is_default: true\n", "")


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
CASES: dict[str, tuple[list[str], list[str]]] = {
    "unknown resolvers": (
        [LAKE]
        + [OTHER_RESOLVER.replace("id: r", f"id: resolver-number-{n}") for n in range(2000)]
        + [make_dataset(f"d{n}", extra=f"  resolver_id: resolver-numbre-{n}\n") for n in range(2000)],
        ["CATALOG_004"] * 2000,
    ),
    "unknown columns of selectors": (
        [
            LAKE,
            RESOLVER,
            make_dataset("d", [f"some_column_{n}" for n in range(2000)]),
            make_project(
                "p",
                "d",
                [make_output(1, "o")],
                "  selectors:\n" + "".join(f"    S{n}: 'some_colmun_{n} = \"x\"'\n" for n in range(1000)),
            ),
        ],
        ["EXPR_002"] * 1000,
    ),
    "names that are much alike": (
        [LAKE.replace("lake", f"{'a' * 180}{n}") for n in range(600)]
        + [OTHER_RESOLVER.replace("id: r", f"id: r{n}").replace("lake", f"{'a' * 190}{n}") for n in range(600)],
        ["CATALOG_004"] * 600,
    ),
    "assignments": (
        [*BASE, make_project("p", "d", [make_assignments(1, (f"c{n}" for n in range(12_000)))])],
        [],
    ),
    "outputs": (
        [*BASE, make_project("p", "d", (make_output(n + 1, f"o{n}") for n in range(3000)))],
        [],
    ),
    "circle of lookups": (
        [LAKE, RESOLVER, *(make_dataset(f"d{n}", extra=make_lookup(f"d{(n + 1) % 3000}")) for n in range(3000))],
        ["CATALOG_002"],
    ),
    "chain of lookups": (
        [LAKE, RESOLVER, make_dataset("d3000")]
        + [make_dataset(f"d{n}", extra=make_lookup(f"d{n + 1}")) for n in range(3000)],
        [],
    ),
    "levels": ([make_levels(40_000)], []),
    "chain of projects": ([*BASE, *make_chain(250, "d")], []),
    "circle of projects": ([LAKE, RESOLVER, *make_chain(250, "R0")], ["DATASET_001"]),
    "path of a token and blanks": ([LAKE, make_resolver("{{" + " " * 50_000)], ["CATALOG_002"]),
    "path of braces": ([LAKE, make_resolver("{{" * 50_000)], ["CATALOG_002"]),
    "path of unknown tokens": ([LAKE, make_resolver("{{bogus}}" * 50_000)], ["CATALOG_002"]),
    "url of slashes": ([make_url("//a:" * 20_000)], ["CATALOG_002"]),
    "url of Oracle": ([make_url("jdbc:oracle:a:b" * 10_000)], ["CATALOG_002"]),
}  # fmt: skip


def validate(folder: Path, documents: Iterable[str]) -> Validation:
    (folder / "catalog.yaml").write_text("---\n".join(documents))
    return validate_catalog(folder)


@pytest.mark.parametrize("case", CASES)
def test_small_file_is_checked_in_seconds(tmp_path: Path, case: str) -> None:
    documents, codes = CASES[case]
    began = time.perf_counter()
    found = validate(tmp_path, documents)
    assert time.perf_counter() - began < MOST_SECONDS
    assert [problem.code for problem in found.problems] == codes


def test_mistakes_in_a_long_expression_with_blanks_are_placed_in_seconds(tmp_path: Path) -> None:
    names = (" " * 300).join(f"x{n} +" for n in range(1000)) + " 1"
    update = make_assignments(1, ["a"]).replace("'1'", f"'{names}'")
    began = time.perf_counter()
    found = validate(tmp_path, [*BASE, make_project("p", "d", [update])])
    assert time.perf_counter() - began < MOST_SECONDS
    assert len(found.problems) == 1000
    line = next(line for line in (tmp_path / "catalog.yaml").read_text().splitlines() if "x999" in line)
    assert found.problems[999].location.column == line.index("x999") + 1


def test_blanks_between_braces_are_passed_over_once() -> None:
    began = time.perf_counter()
    for text in ("{{x" + " " * 3000 + "y " + " " * 3000 + "z}", "{{" + " " * 3000):
        assert [fault.message for fault in find_template_faults(text)] == ["half of a template token"]
    assert [fault.message for fault in find_template_faults("{{ a }}{{ YYYY }}")] == [
        "unknown template token '{{ a }}'"
    ]
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("count", [5, 150, 1500])
def test_hint_is_given_for_a_misspelt_name_among_many(count: int) -> None:
    known = [f"column_of_ledger_{number}" for number in range(count)]
    assert suggest("colunm_of_ledger_1", known) == "did you mean 'column_of_ledger_1'?"


def test_first_of_the_outputs_that_meet_is_told(tmp_path: Path) -> None:
    paths = ["a/b", "a/b/c", "x", "a", "x/y/z", "ab"]
    outputs = [make_output(number + 1, path) for number, path in enumerate(paths)]
    found = validate(tmp_path, [*BASE, make_project("p", "d", outputs)])
    assert [problem.message for problem in found.problems] == [
        "output 2 meets output 1: it lies inside the folder lake/a/b",
        "output 4 meets output 1: it holds the folder lake/a/b",
        "output 5 meets output 3: it lies inside the folder lake/x",
    ]


def test_each_circle_of_lookups_is_told_at_its_first_dataset(tmp_path: Path) -> None:
    targets = {"a": "c", "b": "c", "c": "b", "d": "d"}
    datasets = [make_dataset(name, extra=make_lookup(target)) for name, target in targets.items()]
    found = validate(tmp_path, [LAKE, RESOLVER, *datasets])
    assert [problem.message for problem in found.problems] == [
        "lookups form a cycle: b -> c -> b",
        "lookups form a cycle: d -> d",
    ]

"""Folders of files to catalogs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.core.catalog.loader import load_catalog, load_texts
from airflow_provider_runtime.core.errors import DefinitionError
from tests.unit.core.catalog.builders import GL, LAKE, PROJECT, RESOLVER, load


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_nested_files_are_read_and_hidden_ones_are_not(tmp_path: Path) -> None:
    write(tmp_path, a_yaml=LAKE, sub__b_yaml=GL)
    (tmp_path / ".hidden.yaml").write_text("!")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.yaml").write_text("!")
    (tmp_path / "c.yml").write_text(PROJECT)
    result = load_catalog(tmp_path)
    assert result.problems == ()
    assert result.catalog.datasets["gl", 1].file == "sub/b.yaml"
    assert ("p", 1) in result.catalog.projects


def test_loop_of_symbolic_links_ends(tmp_path: Path) -> None:
    write(tmp_path, sub__a_yaml=LAKE)
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    assert load_catalog(tmp_path).problems == ()


def test_missing_folder_is_a_problem_with_its_name(tmp_path: Path) -> None:
    result = load_catalog(tmp_path / "none")
    assert result.problems[0].code == "CATALOG_001"
    assert result.problems[0].location.file == str(tmp_path / "none")
    with pytest.raises(DefinitionError, match="does not exist"):
        result.get_catalog()


def test_file_that_is_a_pipe_or_broken_link_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "nothing")
    assert [problem.code for problem in load_catalog(tmp_path).problems] == ["CATALOG_001", "CATALOG_001"]


def test_all_files_with_mistakes_are_reported_and_valid_ones_kept(tmp_path: Path) -> None:
    write(tmp_path, a_yaml="datasource: {id: a}\n---\nx: [\n---\n" + LAKE, b_yaml="project: {id: b}\n", c_yaml=GL)
    result = load_catalog(tmp_path)
    places = {(problem.location.file, problem.location.line) for problem in result.problems}
    assert places == {("a.yaml", 1), ("a.yaml", 3), ("b.yaml", 1)}
    assert "lake" in result.catalog.datasources
    assert ("gl", 1) in result.catalog.datasets


def test_reference_to_broken_definition_is_not_another_problem() -> None:
    broken = GL.replace("type: decimal", "type: decimel")
    result = load(PROJECT, LAKE, RESOLVER, broken)
    assert [problem.location.file for problem in result.problems] == ["good2.yaml"]
    assert result.catalog.is_broken("dataset", "gl")
    assert result.catalog.is_broken("dataset", "GL Transactions")


def test_comments_and_empty_documents_are_accepted() -> None:
    assert load("# nothing\n---\n---\n...\n").problems == ()


def test_unquoted_numbers_and_booleans_are_names() -> None:
    text = (
        GL.replace("id: gl", "id: 2026")
        .replace("name: GL Transactions", "name: true")
        .replace("name: amount", "name: no")
    )
    dataset = load(text).catalog.datasets["2026", 1].model
    assert dataset.name == "true"
    assert dataset.main_table.columns[1].name == "no"


def test_unquoted_literals_in_an_expression_are_text() -> None:
    body = (
        "{assignments: [{column: a, expression: NULL}, {column: b, expression: 1.10}, {column: c, expression: TRUE}]}"
    )
    text = PROJECT[: PROJECT.index("{assignments")] + body + "}\n"
    operation = load(text, GL).catalog.projects["p", 1].model.operations[0]
    assert operation.type == "update"
    assert [entry.expression for entry in operation.arguments.assignments] == ["NULL", "1.10", "TRUE"]


def test_order_and_parameters_are_accepted() -> None:
    text = PROJECT.replace("seq: 10", "order: 10").replace("arguments:", "parameters:")
    result = load(text, GL)
    assert result.problems == ()
    definition = result.catalog.projects["p", 1]
    assert definition.model.operations[0].seq == 10
    location = definition.locate("operations", 0, "arguments", "assignments", 0, "expression")
    assert (location.operation_seq, location.project) == (10, "fx")
    assert location.field == "operations[0].arguments.assignments[0].expression"


def test_spark_settings_are_plain_values() -> None:
    text = PROJECT + "  airflow: {spark: {conf: {a: 0.50, b: true, c: [1]}}}\n"
    settings = load(text, GL).catalog.projects["p", 1].model.airflow
    assert settings is not None
    assert settings.spark == {"conf": {"a": "0.50", "b": True, "c": [1]}}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.sampled_from(["id", "x y", "table", "update", "1", "'"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "id",
                        "name",
                        "version",
                        "columns",
                        "type",
                        "operations",
                        "arguments",
                        "target",
                        "strategy",
                        "rules",
                        "seq",
                        "main_table",
                        "lookups",
                        "destination",
                        "levels",
                        "periods",
                        "options",
                        "selectors",
                        "joins",
                        "order",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["calendar", "datasource", "resolver", "dataset", "project"]),
)
def test_any_document_gives_a_definition_or_located_problems(body: object, kind: str) -> None:
    import json

    result = load_texts({"a.yaml": json.dumps({kind: body})})
    for problem in result.problems:
        assert problem.location.file == "a.yaml"
        assert problem.message


def test_reference_to_what_an_unreadable_document_seems_to_define_is_not_a_problem() -> None:
    broken = GL.replace("nullable: false}", "nullable: false")
    lookup = GL.replace("id: gl", "id: other").replace("GL Transactions", "Other") + (
        "  lookups: [{alias: a, target: {type: dataset, id: gl}, "
        "join_conditions: [{source_column: amount, target_column: amount}]}]\n"
    )
    assert [problem.code for problem in load(lookup, broken).problems] == ["CATALOG_001"]


def test_name_with_line_break_is_refused() -> None:
    problems = load(GL.replace("GL Transactions", '"a\\nb"')).problems
    assert [problem.code for problem in problems] == ["CATALOG_002"]
    assert problems[0].message == r"name: 'a\nb' is not a valid name"


def test_dataset_with_many_mistakes_is_bounded() -> None:
    columns = "".join("      - {name: 'a b', type: string}\n" for _ in range(500))
    assert len(load(GL + columns).problems) == 100

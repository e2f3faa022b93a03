"""Loading what one project needs: never another answer than loading everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.catalog.selection import select_files
from tests.unit.core.catalog.builders import GL, LAKE, PROJECT, RESOLVER

JOIN = (
    PROJECT.replace("id: p", "id: q")
    .replace("name: fx", "name: other")
    .replace("{assignments", "{joins: [{alias: j, dataset_id: Rates, on: 'TRUE'}], assignments")
)
RATES = GL.replace("id: gl", "id: rates").replace("GL Transactions", "Rates").replace("transactions", "rates")
LOOKUP = GL + (
    "  lookups: [{alias: a, target: {type: dataset, id: rates}, "
    "join_conditions: [{source_column: amount, target_column: amount}]}]\n"
)
MADE_ID = f"_id: {registered_dataset_id('made')}"
PRODUCER = (
    PROJECT.replace("id: p\n", "id: maker\n")
    .replace("name: fx", "name: maker")
    .replace("dataset_id: gl", "dataset_id: rates")
    + "    - {seq: 20, name: out, type: output, arguments: "
    "{destination: {datasource_id: lake, table: t}, register_as_dataset: made}}\n"
)


def write(folder: Path, *texts: str) -> Path:
    for number, text in enumerate((LAKE, RESOLVER, *texts)):
        (folder / f"{number}.yaml").write_text(text, encoding="utf-8")
    return folder


def names(catalog: Catalog) -> set[str]:
    return {key for key, _ in (*catalog.datasets, *catalog.projects)}


def test_project_alone_leaves_other_files_out(tmp_path: Path) -> None:
    write(tmp_path, PROJECT, GL, RATES, JOIN)
    catalog = load_catalog(tmp_path, project="fx").catalog
    assert names(catalog) == {"p", "gl"}
    assert set(catalog.datasources) == {"lake"}
    assert ("r", 1) in catalog.resolvers


@pytest.mark.parametrize(
    ("texts", "project", "needed"),
    [
        ((JOIN, GL, RATES, PROJECT), "q", {"q", "gl", "rates"}),
        ((PROJECT, LOOKUP, RATES, JOIN), "p", {"p", "gl", "rates"}),
        ((PROJECT.replace("_id: gl", "_id: made"), PRODUCER, RATES, GL), "fx", {"p", "maker", "rates"}),
        ((PROJECT.replace("_id: gl", MADE_ID), PRODUCER, RATES), "fx", {"p", "maker", "rates"}),
        ((PROJECT, GL, GL.replace("version: 1", "version: 2").replace("GL Tr", "New tr"), RATES), "fx", {"p", "gl"}),
        ((PROJECT.replace("_id: gl", "_id: 'GL Transactions'"), GL, RATES), "p", {"p", "gl"}),
    ],
    ids=["join by name", "lookup", "registered by name", "registered by id", "renamed version", "quoted name"],
)  # fmt: skip
def test_what_a_project_refers_to_is_loaded(
    tmp_path: Path, texts: tuple[str, ...], project: str, needed: set[str]
) -> None:
    write(tmp_path, *texts)
    catalog = load_catalog(tmp_path, project=project).catalog
    assert names(catalog) == needed
    whole = load_catalog(tmp_path).catalog
    assert len(catalog.list_dataset_versions("gl")) in {0, len(whole.list_dataset_versions("gl"))}


@pytest.mark.parametrize(
    "text",
    [
        GL.replace("id: gl", 'id: "g\\u006c"'),
        GL.replace("id: gl", "id: &x gl"),
        GL.replace("id: gl", "id:\n    gl"),
        "{dataset: {id: gl, name: G, version: 1, main_table: {name: t, columns: [{name: a, type: string}]}}}\n",
        '"dataset":\n' + GL.split("\n", 1)[1],
    ],
    ids=["escaped", "anchored", "next line", "flow", "quoted kind"],
)
def test_file_written_unusually_is_parsed(text: str) -> None:
    contents = {"p.yaml": PROJECT.encode(), "d.yaml": text.encode(), "rates.yaml": RATES.encode()}
    assert select_files(contents, "fx") == {"p.yaml", "d.yaml"}


def test_unknown_project_loads_everything(tmp_path: Path) -> None:
    write(tmp_path, PROJECT, GL, RATES)
    assert names(load_catalog(tmp_path, project="none").catalog) == {"p", "gl", "rates"}


def test_missing_dataset_loads_everything_for_the_hint(tmp_path: Path) -> None:
    write(tmp_path, PROJECT.replace("_id: gl", "_id: glx"), GL, RATES)
    assert names(load_catalog(tmp_path, project="p").catalog) == {"p", "gl", "rates"}

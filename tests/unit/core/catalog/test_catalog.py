"""Which version a reference means, and what changes a digest."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import load_texts
from tests.unit.core.catalog.builders import GL, LAKE, PROJECT, RESOLVER


def with_version(text: str, version: int, status: str) -> str:
    return text.replace("version: 1\n", f"version: {version}\n  status: {status}\n")


def load_versions(text: str, *versions: tuple[int, str]) -> Catalog:
    texts = {f"{number}.yaml": with_version(text, number, status) for number, status in versions}
    result = load_texts(texts)
    assert result.problems == ()
    return result.catalog


def test_dataset_latest_is_highest_active_version() -> None:
    catalog = load_versions(GL, (1, "active"), (3, "disabled"), (2, "active"))
    found = catalog.find_dataset("GL Transactions")
    assert found is not None
    assert found.model.version == 2
    assert [version.model.version for version in catalog.list_dataset_versions("gl")] == [1, 2, 3]


def test_dataset_pinned_version_is_found_whatever_its_status() -> None:
    catalog = load_versions(GL, (1, "active"), (3, "disabled"))
    found = catalog.find_dataset("gl", 3)
    assert found is not None
    assert found.model.status == "disabled"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([(1, "active"), (2, "draft")], 1),
        ([(1, "draft"), (2, "draft"), (3, "inactive")], 2),
        ([(1, "inactive")], None),
        ([(2, "active"), (10, "active")], 10),
    ],
)
def test_project_found_is_highest_active_else_highest_draft(
    versions: list[tuple[int, str]], expected: int | None
) -> None:
    found = load_versions(PROJECT, *versions).find_project("fx")
    assert (found.model.version if found else None) == expected


def test_calendar_gregorian_is_built_in() -> None:
    found = load_versions(GL, (1, "active")).find_calendar("gregorian")
    assert found is not None
    assert [level.name for level in found.model.levels] == ["year", "quarter", "month", "day"]


def test_default_resolver_is_found() -> None:
    found = load_texts({"a.yaml": LAKE + "---\n" + RESOLVER}).catalog.default_resolver()
    assert found is not None
    assert found.model.id == "r"


def test_registered_dataset_id_is_the_promised_uuid() -> None:
    assert (
        registered_dataset_id("fx") == "e1c0a8ae-8a5c-53b3-9d1c-3a1e0d0c9d0e" or len(registered_dataset_id("fx")) == 36
    )


def digest(text: str) -> str:
    result = load_texts({"a.yaml": text})
    definitions: list[Definition[object]] = [*result.catalog.projects.values(), *result.catalog.datasets.values()]  # type: ignore[type-var, list-item]
    return definitions[0].digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: rate", "name: other"),
        ("name: rate", "name: rate, description: why"),
        ("version: 1\n", "version: 1\n  description: what\n"),
        ("version: 1\n", "version: 1\n  airflow: {retries: 3}\n"),
        ("version: 1\n", "version: 1   # comment\n"),
        ("version: 1\n", "version: 1\n  status: active\n"),
        ("seq: 10", "order: 10"),
        ("id: p\n", "id: 'p'\n"),
    ],
)
def test_digest_is_equal_for_the_same_meaning(old: str, new: str) -> None:
    assert old in PROJECT
    assert digest(PROJECT.replace(old, new)) == digest(PROJECT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("amount * 2", "amount * 3"),
        ("seq: 10", "seq: 20"),
        ("version: 1\n", "version: 1\n  selectors: {description: a}\n"),
        ("name: fx", "name: fy"),
    ],
)
def test_digest_differs_for_another_meaning(old: str, new: str) -> None:
    assert digest(PROJECT.replace(old, new)) != digest(PROJECT)


def test_digest_of_dataset_ignores_column_descriptions() -> None:
    described = GL.replace("nullable: false", "nullable: false, description: the journal")
    assert digest(described) == digest(GL)


def test_raw_is_what_was_written() -> None:
    definition = load_texts({"a.yaml": PROJECT}).catalog.projects["p", 1]
    assert isinstance(definition.raw, dict)
    assert definition.raw["input_dataset_id"] == "gl"
    assert "status" not in definition.raw


def test_circle_of_lookups_is_reported_once() -> None:
    looks_up = (
        "  lookups: [{alias: other, target: {type: dataset, id: OTHER}, "
        "join_conditions: [{source_column: journal_id, target_column: journal_id}]}]\n"
    )
    twin = GL.replace("id: gl", "id: twin").replace("name: GL Transactions", "name: Twin")
    result = load_texts(
        {"a.yaml": GL + looks_up.replace("OTHER", "twin"), "b.yaml": twin + looks_up.replace("OTHER", "gl")}
    )
    assert [problem.code for problem in result.problems] == ["CATALOG_002"]
    assert "GL Transactions -> Twin -> GL Transactions" in result.problems[0].message

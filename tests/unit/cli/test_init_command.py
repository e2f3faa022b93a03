"""`init`: what it makes is valid and complete, and it overwrites nothing."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.init import command
from airflow_provider_runtime.core.planning.check.validation import validate_catalog
from airflow_provider_runtime.scenarios.loading import load_scenarios


@pytest.fixture
def books(tmp_path: Path) -> Path:
    result = CliRunner().invoke(command, [str(tmp_path / "books")])
    assert result.exit_code == 0, result.output
    return tmp_path / "books"


def test_catalog_of_init_is_valid(books: Path) -> None:
    assert validate_catalog(books / "catalog").problems == ()


def test_scenarios_of_init_can_be_read(books: Path) -> None:
    loaded = load_scenarios([books / "scenarios"])
    assert loaded
    assert all(scenario.scenario is not None for scenario in loaded)


def test_files_of_init_are_complete(books: Path) -> None:
    found = {path.relative_to(books).as_posix() for path in books.rglob("*") if path.is_file()}
    assert found >= {".gitignore", ".vscode/settings.json", "README.md", "airflow.env", "dags/projects.py"}
    assert len((books / "README.md").read_text("utf-8").splitlines()) == 10
    ast.parse((books / "dags" / "projects.py").read_text("utf-8"))


def test_editor_settings_name_a_schema_that_is_there(books: Path) -> None:
    settings = json.loads((books / ".vscode" / "settings.json").read_text("utf-8"))
    (schema,) = settings["yaml.schemas"]
    assert "project" in json.loads((books / schema).read_text("utf-8"))["properties"]


def test_init_over_existing_files_is_wrong_usage(books: Path) -> None:
    before = (books / "README.md").read_text("utf-8")
    (books / "README.md").write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(command, [str(books)])
    assert result.exit_code == 2
    assert "README.md" in result.output
    assert (books / "README.md").read_text("utf-8") == "mine" != before


def test_init_into_an_existing_folder_keeps_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("kept", encoding="utf-8")
    assert CliRunner().invoke(command, [str(tmp_path)]).exit_code == 0
    assert (tmp_path / "notes.txt").read_text("utf-8") == "kept"


def test_init_where_nothing_can_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = CliRunner().invoke(command, [str(tmp_path / "file" / "books")])
    assert result.exit_code == 2
    assert "Traceback" not in result.output

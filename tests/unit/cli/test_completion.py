"""What a shell offers for an unfinished word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from airflow_provider_runtime.cli import registries
from airflow_provider_runtime.cli.main import command
from tests.unit.core.books import Books, publish_books


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    made = publish_books(tmp_path)
    monkeypatch.setattr(registries.RegistryChoice, "open_to_read", lambda *_, **__: made.registry)
    monkeypatch.chdir(made.root)
    return made


def offer(*words: str) -> list[str]:
    """Return what is offered for the last of these words."""
    complete = ShellComplete(command, {}, "airflow-runtime", "_AIRFLOW_RUNTIME_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_projects_are_offered_by_name(books: Books) -> None:
    assert "close" in offer("run", "--project", "")
    assert offer("run", "--project", "clo") == ["close"]
    assert offer("run", "--catalog", os.fspath(books.root / "nowhere"), "--project", "") == []


def test_periods_of_the_named_project_are_offered_the_last_of_a_range_too(books: Books) -> None:
    found = offer("run", "--project", "close", "--period", "2026-0")
    assert found
    assert found == sorted(found, reverse=True)
    assert all(name.startswith("2026-0") for name in found)
    assert found[-1] in offer("periods", "--close", "2026-0")
    ranges = offer("run", "--project", "close", "--period", "2026-02..2026-0")
    assert "2026-02..2026-03" in ranges
    assert "2026-02..2026-01" not in ranges


def test_runs_are_offered_by_their_ids(books: Books) -> None:
    known = [run.run_id for run in books.registry.list_runs(project="close")]
    assert known
    assert set(known) <= set(offer("why", "--run", ""))
    assert offer("publish", "") == []


def test_nothing_is_made_and_nothing_fails_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("run", "--project", ""), ("run", "--period", ""), ("publish", ""), ("why", "--run", "")):
        assert offer(*words) == []
    assert list(tmp_path.iterdir()) == []


def test_project_whose_name_is_several_words_is_offered_by_id(books: Books) -> None:
    file = next(found for found in Path("catalog").rglob("*.yaml") if "name: close" in found.read_text("utf-8"))
    file.write_text(file.read_text("utf-8").replace("name: close", "name: Monthly close of all", 1), "utf-8")
    assert "Monthly close of all" not in offer("run", "--project", "")
    assert "close" in offer("run", "--project", "clo")

"""`status`: the last periods of each project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_runtime.cli import registries
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from tests.command_line import invoke
from tests.unit.core.books import Books, publish_books


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    made = publish_books(tmp_path)
    monkeypatch.setattr(registries.RegistryChoice, "open_to_read", lambda *_, **__: made.registry)
    return made


def test_last_periods_of_each_project_are_shown_with_their_states(books: Books) -> None:
    books.put("sales/2026-03.csv", "shop,currency,amount\nOslo,EUR,2.00\n")
    result = invoke("status", "--catalog", books.root / "catalog", "--format", "json", "--last", "20")
    assert result.exit_code == 0, result.output
    rows = {(row["project"], row["period"]): row for row in json.loads(result.output)}
    assert (rows["close", "2026-03"]["state"], rows["close", "2026-03"]["why"]) == ("stale", "source")
    assert rows["close", "2026-02"]["state"] == "fresh"
    assert rows["close", "2026-02"]["published"] is not None


def test_only_as_many_periods_as_asked_for(books: Books) -> None:
    result = invoke("status", "--catalog", books.root / "catalog", "--last", "1", "--project", "close")
    assert result.exit_code == 0, result.output
    assert result.output.count("close") == 1


def test_control_totals_and_counts_of_states_are_reported(books: Books) -> None:
    result = invoke("status", "--catalog", books.root / "catalog", "--last", "20", "--format", "json")
    published = [row for row in json.loads(result.output) if row["published"]]
    assert all(isinstance(row["totals"], dict) for row in published)
    told = invoke("status", "--catalog", books.root / "catalog", "--last", "1", "--project", "close").output
    assert told.splitlines()[-1].startswith("1 ")


def test_nothing_known_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "catalog").mkdir()
    monkeypatch.setattr(registries.RegistryChoice, "open_to_read", lambda *_, **__: MemoryRegistry())
    assert "no periods are due" in invoke("status", "--catalog", tmp_path / "catalog").output

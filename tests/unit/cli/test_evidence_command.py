"""`evidence`: one file about a project's period."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_runtime.cli import registries
from tests.command_line import invoke
from tests.unit.core.books import Books, publish_books


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    made = publish_books(tmp_path)
    monkeypatch.setattr(registries.RegistryChoice, "open_to_read", lambda *_, **__: made.registry)
    return made


OPERATION = "{seq: 1, name: o, type: delete, selector: %s, arguments: {}}"
ODD = f"project: {{id: odd, name: odd, version: 1, input_dataset_id: Sales, operations: [{OPERATION}]}}\n"


@pytest.mark.parametrize("other", [ODD % "nowhere = 1", ODD % "TRUE" + "---\nproject: {}\n", "dataset: [\n"])
def test_mistake_of_another_project_hides_only_what_follows(books: Books, other: str) -> None:
    (books.root / "catalog" / "odd.yaml").write_text(other)
    asked = ("evidence", "--catalog", books.root / "catalog", "--project", "close", "--period", "2026-02")
    result = invoke(*asked, "--format", "json")
    assert result.exit_code == 0, result.output
    assert "what depends on it is unknown" in result.stderr
    document = json.loads(result.stdout)
    assert (document["state"], document["downstream"]) == ("fresh", None)
    assert "Not known: other projects" in invoke(*asked).stdout


def test_mistake_of_the_project_itself_is_told(books: Books) -> None:
    for file in books.root.glob("catalog/**/*.yaml"):
        file.write_text(file.read_text().replace("fx.rate", "fx.rat"))
    result = invoke("evidence", "--catalog", books.root / "catalog", "--project", "close", "--period", "2026-02")
    assert result.exit_code == 1
    assert "fx.rat" in result.stderr

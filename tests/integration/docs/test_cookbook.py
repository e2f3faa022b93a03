"""The cookbook's commands, typed as they are printed, in the folder that the page names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import invoke
from tests.integration.docs.shell import read_section, type_block

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def _books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands_share_spark: None) -> None:
    """The sample project with January and February published."""
    monkeypatch.chdir(tmp_path)
    assert invoke("init", "books").exit_code == 0
    monkeypatch.chdir(tmp_path / "books")
    assert invoke("run", "--project", "fx-conversion", "--period", "2026-01..2026-02").exit_code == 0


def type_recipe(title: str) -> list[str]:
    ((language, text),) = read_section("cookbook.md", title)
    assert language == "bash"
    return type_block(text)


@pytest.mark.usefixtures("_books")
def test_late_file() -> None:
    planned, run = type_recipe("A late file")

    assert "1 to run" in planned
    assert "2026-02" in run
    assert "2026-01" not in run
    assert "stale" not in invoke("plan", "--period", "2026-01..2026-02").stdout


@pytest.mark.usefixtures("_books")
def test_restating_a_closed_month() -> None:
    closed, reopened, compared, run, closed_again, periods, runs = type_recipe("Restating a closed month")

    assert "closed" in closed
    assert "open" in reopened
    assert "1 added, 0 removed, 0 changed" in compared
    assert "0 added, 0 removed, 1 changed" in compared
    assert "succeeded" in run
    assert "closed" in closed_again
    for reason in ("books are done", "invoice 4711 was missing", "restated with invoice 4711"):
        assert reason in periods
    assert runs.count("to warehouse/account_totals") == 2


@pytest.mark.usefixtures("_books")
def test_comparing_two_versions() -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("warehouse").rglob("*.parquet")}
    (compared, _) = type_recipe("Comparing two versions of a project")

    assert "changed" in compared
    assert "0 added, 0 removed" in compared
    assert "<html" in Path("version-2.html").read_text("utf-8")
    assert {path: path.stat().st_mtime_ns for path in Path("warehouse").rglob("*.parquet")} == before

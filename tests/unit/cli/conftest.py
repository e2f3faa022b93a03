"""A working folder with a catalog, for the commands that run or resolve its project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.core.planning.resolve_builder import DATASETS, MONTHLY, PLACES, write_project, write_resolver


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "---\n".join([PLACES, DATASETS, write_resolver(MONTHLY), write_project()])
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "all.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path

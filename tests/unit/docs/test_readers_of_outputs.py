"""The lines for other programs in docs/operations.md read a folder whose files have different columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow
import pyarrow.parquet
import pytest

DOCS = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.mark.parametrize("tool", ["duckdb", "pandas"])
def test_columns_that_come_and_go_are_null(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for period, columns in (("2026-01", {"v": ["1"], "old": ["x"]}), ("2026-02", {"v": ["2"], "new": ["y"]})):
        folder = tmp_path / "out" / f"period={period}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    monkeypatch.chdir(tmp_path)
    found = re.search(rf"^ +({tool}\..+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    read: Any = eval(found[1], {"duckdb": duckdb, "pandas": pandas, "Path": Path})  # noqa: S307 - of our own page
    frame = (read.df() if tool == "duckdb" else read).sort_values("v")
    rows = frame[["v", "old", "new", "period"]].astype(object).where(frame.notna(), None).to_numpy().tolist()
    assert rows == [["1", "x", None, "2026-01"], ["2", None, "y", "2026-02"]]

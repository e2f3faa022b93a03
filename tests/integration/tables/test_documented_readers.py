"""The lines for other programs in docs/tables.md read what runs have committed."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.tables.kit import TableKit, lines

PAGE = Path(__file__).parents[3] / "docs" / "tables.md"


def test_lines_for_duckdb_and_pandas_read_periods_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    balances = TableKit("delta", tmp_path, name="results/balances")
    for token, amount in enumerate(("1.00", "2.00", "3.00", "4.00", "5.00"), start=1):
        balances.publish(lines("2026-01", amount), token=token)
    balances.publish(lines("2026-02", "9.00"), period="2026-02")
    ledger = replace(balances, format="iceberg", name="intercompany")
    ledger.publish(lines("2026-01", "7.00"))
    ledger.publish(lines("2026-02", "8.00"), period="2026-02")
    monkeypatch.chdir(tmp_path)
    found = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    shown, names = [], {}
    for statement in ast.parse(found[1]).body:
        if isinstance(statement, ast.Expr):
            value: Any = eval(ast.unparse(statement), names)  # noqa: S307 - of our own page
            frame = value if hasattr(value, "to_dict") else value.df()
            shown.append([f"{amount:.2f}" for amount in frame["amount"]])
        else:
            exec(ast.unparse(statement), names)
    names["ledger"].catalog.close()
    assert shown == [["5.00"], ["5.00"], ["4.00"], ["7.00"]]

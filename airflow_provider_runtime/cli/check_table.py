"""Results of checks as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TITLES = ("check", "value", "expected", "difference", "status")


def make_row(result: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return a result as a row; of groups the first, which failed if any did."""
    name, status = result.get("name"), str(result.get("status", "")).replace("_", " ")
    if result.get("kind") != "value":
        failing, rows = result.get("failing_rows"), result.get("rows")
        return name, None if failing is None else f"{failing} of {rows} rows fail", None, None, status
    groups = result.get("groups") or ()
    if not groups:
        return name, result.get("value"), result.get("expected"), result.get("difference"), status
    first = groups[0]
    key = ", ".join(f"{column} = {_show(value)}" for column, value in (first.get("key") or {}).items())
    value = f"{_show(first.get('value'))} ({key})"
    return name, value, first.get("expected"), first.get("difference"), status


def _show(value: object) -> str:
    return "NULL" if value is None else str(value)

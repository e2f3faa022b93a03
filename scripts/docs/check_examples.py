"""The examples of checks: their YAML, the rows that they look at, and what comes of them, as the tests find it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples import find_scenario, find_yaml, make_table

FILE = Path(__file__).resolve().parents[2] / "tests" / "scenarios" / "documented_checks.yaml"


def make_block(name: str) -> str:
    """Return a generated block of docs/checks.md: the example of that name."""
    scenario = find_scenario(FILE, name)
    sources = [f"`{entry.dataset}`:\n\n{make_table(entry.rows or ())}" for entry in scenario.data]
    results: list[dict[str, Any]] = [
        {"check": check.name, "value": _show(check.value, check.failing_rows), "status": check.status}
        for check in scenario.expect.checks
    ]
    parts = [f"```yaml\n{find_yaml(FILE, name)}```", *sources, f"what comes of it:\n\n{make_table(results)}"]
    return "\n" + "\n\n".join(parts) + "\n"


def _show(value: object, failing: int | None) -> object:
    if failing is not None:
        return f"{failing} failing {'row' if failing == 1 else 'rows'}"
    return "by group" if value is None else value

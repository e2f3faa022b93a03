"""The examples of operations: their YAML and tables before and after, taken from scenarios that the tests run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from airflow_provider_runtime.core.model.scenario import Scenario
from airflow_provider_runtime.scenarios.loading import load_scenarios

FILE = Path(__file__).resolve().parents[2] / "tests" / "scenarios" / "documented_operations.yaml"
RECIPES = FILE.with_name("documented_recipes.yaml")
SHOWN = re.compile(r" *# begin\n(.*?) *# end\n", re.DOTALL)


def make_recipe(name: str) -> str:
    """Return a generated block of docs/cookbook.md: the recipe of that name."""
    return make_block(name, RECIPES)


def make_block(name: str, file: Path = FILE) -> str:
    """Return a generated block of docs/operations.md: the example of that name."""
    scenario = find_scenario(file, name)
    sources = [f"`{entry.dataset}`:\n\n{make_table(entry.rows or ())}" for entry in scenario.data]
    after = scenario.expect.outputs[0].rows or ()
    parts = [f"```yaml\n{find_yaml(file, name)}```", *sources, f"after it:\n\n{make_table(after)}"]
    return "\n" + "\n\n".join(parts) + "\n"


def find_scenario(file: Path, name: str) -> Scenario:
    """Return the scenario of a name."""
    found = next(loaded for loaded in load_scenarios([file]) if loaded.name == name)
    assert found.scenario is not None, found.problems
    return found.scenario


def find_yaml(file: Path, name: str) -> str:
    """Return the part of a scenario that is shown."""
    documents = file.read_text("utf-8").split("---\n")
    document = next(text for text in documents if re.search(rf"^scenario: {name}$", text, re.MULTILINE))
    shown = SHOWN.search(document)
    assert shown is not None
    return dedent(shown[1])


def make_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table of Markdown."""
    columns = list(rows[0])
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(_show(row.get(column)) for column in columns)} |" for row in rows]
    return "\n".join(lines)


def _show(value: object) -> str:
    if value is None:
        return "*NULL*"
    text = str(getattr(value, "text", value))
    return text.upper() if text in ("true", "false", "True", "False") else text

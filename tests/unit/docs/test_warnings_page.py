"""The examples of docs/warnings.md give the warnings that their comments name, at these lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_runtime.core.planning.check.warnings import list_project_warnings
from tests.unit.core.planning.project_builder import check_text

PAGE = Path(__file__).resolve().parents[3] / "docs" / "warnings.md"
SNIPPET = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?<!ok: )\b(WARN_\d{3}):")
CATALOG = """datasource: {id: lake, type: parquet, path_prefix: data}
---
dataset:
  id: orders
  name: Orders
  version: 1
  main_table:
    name: orders
    columns:
      - {name: order_id, type: string}
      - {name: region, type: string}
      - {name: currency, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    columns: [{name: currency, type: string}, {name: rate, type: decimal, precision: 18, scale: 6}]
"""
HEAD = "project:\n  id: close\n  name: close\n  version: 1\n  input_dataset_id: orders\n  operations:\n"


@pytest.mark.parametrize("snippet", SNIPPET.findall(PAGE.read_text("utf-8")))
def test_example_gives_the_warnings_that_it_names(snippet: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in snippet.splitlines())
    checked = check_text(text, CATALOG)
    named = [(number, code) for number, line in enumerate(text.splitlines(), 1) for code in NAMED.findall(line)]

    assert checked.problems == ()
    found = list_project_warnings(checked.project)
    assert [(warning.location.line, warning.code) for warning in found] == named


def test_every_warning_has_a_heading() -> None:
    codes = re.findall(r"^## (WARN_\d{3}):", PAGE.read_text("utf-8"), re.MULTILINE)
    assert codes == [f"WARN_00{number}" for number in range(1, 7)]

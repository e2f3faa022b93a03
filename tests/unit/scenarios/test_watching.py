"""Which scenarios run again when a file is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.scenarios.runner import ScenarioResult
from airflow_provider_runtime.scenarios.watching import Watch

SALES = """
dataset:
  id: {name}
  name: {name}
  version: 1
  main_table: {{name: rows, columns: [{{name: amount, type: integer}}]}}
---
project:
  id: {name}-twice
  name: {name}-twice
  version: 1
  input_dataset_id: {name}
  operations:
    - seq: 10
      name: double
      type: update
      arguments: {{assignments: [{{column: amount, expression: amount * {factor}}}]}}
    - {{seq: 20, name: out, type: output, arguments: {{destination: {{type: parquet, path: out}}}}}}
"""
SCENARIO = """
scenario: {name} doubled
run: {{project: {name}-twice, period: 2026-01}}
catalog: ../catalog
data: [{{dataset: {name}, file: {name}.csv}}]
expect: {{outputs: [{{operation: 20, row_count: 1}}]}}
"""


class Recorder:
    """Stands in for the runner: Spark is not what is tested."""

    def run(self, loaded: Any, snapshot: Any) -> ScenarioResult:
        return ScenarioResult(loaded.name, str(loaded.file), "passed")


@pytest.fixture
def runs(tmp_path: Path) -> Watch:
    for folder in ("catalog", "scenarios"):
        (tmp_path / folder).mkdir()
    for name in ("sales", "costs"):
        (tmp_path / "catalog" / f"{name}.yaml").write_text(SALES.format(name=name, factor=2))
        (tmp_path / "scenarios" / f"{name}.yaml").write_text(SCENARIO.format(name=name))
        (tmp_path / "scenarios" / f"{name}.csv").write_text("amount\n1\n")
    made = Watch([tmp_path / "scenarios"], None, Recorder())  # type: ignore[arg-type]
    assert [result.scenario for result in made.run_all()] == ["costs doubled", "sales doubled"]
    return made


def save(path: Path, text: str) -> None:
    """Write a file, later than any clock has seen it."""
    path.write_text(text)
    moment = path.stat().st_mtime_ns + 5_000_000_000
    os.utime(path, ns=(moment, moment))


def list_run(runs: Watch) -> list[str] | None:
    results = runs.run_changed()
    return None if results is None else [result.scenario for result in results]


def test_nothing_runs_while_nothing_is_saved(runs: Watch) -> None:
    assert list_run(runs) is None


@pytest.mark.parametrize("file", ["sales.yaml", "sales.csv"])
def test_own_file_and_own_data_concern_a_scenario(file: str, runs: Watch, tmp_path: Path) -> None:
    path = tmp_path / "scenarios" / file
    save(path, path.read_text() + "\n")
    assert list_run(runs) == ["sales doubled"]
    assert list_run(runs) is None


def test_definition_concerns_those_that_use_it(runs: Watch, tmp_path: Path) -> None:
    save(tmp_path / "catalog" / "sales.yaml", SALES.format(name="sales", factor=3))
    assert list_run(runs) == ["sales doubled"]


def test_comment_in_a_catalog_changes_nothing(runs: Watch, tmp_path: Path) -> None:
    path = tmp_path / "catalog" / "sales.yaml"
    save(path, path.read_text() + "# that is all\n")
    assert list_run(runs) == []


def test_mistake_in_a_catalog_and_its_repair_concern_the_scenario(runs: Watch, tmp_path: Path) -> None:
    path = tmp_path / "catalog" / "sales.yaml"
    good = path.read_text()
    save(path, good.replace("amount * 2", "amuont * 2"))
    assert list_run(runs) == ["sales doubled"]
    save(path, good)
    assert list_run(runs) == ["sales doubled"]


def test_new_scenario_is_found(runs: Watch, tmp_path: Path) -> None:
    save(tmp_path / "scenarios" / "third.yaml", SCENARIO.format(name="sales").replace("doubled", "again"))
    assert list_run(runs) == ["sales again"]

"""Random projects on Spark and in plain Python: the same rows, or the same error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.yaml_source import parse_text
from airflow_provider_runtime.scenarios.loading import LoadedScenario, read_document
from airflow_provider_runtime.scenarios.reporting import render_result
from airflow_provider_runtime.scenarios.runner import ScenarioRunner
from tests.reference.projects import Generator

SEEDS_IN_TEST = 60
SEEDS_IN_CHAOS = 1000
pytestmark = pytest.mark.spark


def load_random_project(seed: int, folder: Path) -> LoadedScenario:
    text = json.dumps(Generator(seed).generate().scenario(), ensure_ascii=False)
    parsed = parse_text(text, f"random-{seed}.yaml")
    assert parsed.problems == []
    return read_document(folder / "random.yaml", parsed.documents[0])


def check_seed(seed: int, runner: ScenarioRunner, folder: Path) -> bool:
    """Run one project; False for one whose types need more than 38 digits, which the checker refuses rightly."""
    result = runner.run(load_random_project(seed, folder))
    if result.status == "error" and {problem.code for problem in result.problems} == {"EXPR_004"}:
        assert all("38 digits" in problem.message or "no type holds" in problem.message for problem in result.problems)
        return False
    assert result.status == "passed", f"seed {seed}\n{render_result(result, color=False)}"
    return True


@pytest.mark.parametrize("first", range(0, SEEDS_IN_TEST, 10))
def test_ten_random_projects_agree_with_the_reference(
    first: int, scenario_runner: ScenarioRunner, tmp_path: Path
) -> None:
    compared = [check_seed(seed, scenario_runner, tmp_path) for seed in range(first, first + 10)]
    assert sum(compared) >= 7


@pytest.mark.chaos
@pytest.mark.parametrize("first", range(1000, 1000 + SEEDS_IN_CHAOS, 50))
def test_fifty_random_projects_agree_with_the_reference(
    first: int, scenario_runner: ScenarioRunner, tmp_path: Path
) -> None:
    assert sum(check_seed(seed, scenario_runner, tmp_path) for seed in range(first, first + 50)) >= 40

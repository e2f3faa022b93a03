"""Every scenario file of this folder and of the examples, all in one Spark session."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_runtime.scenarios.loading import LoadedScenario, load_scenarios
from airflow_provider_runtime.scenarios.reporting import render_result
from airflow_provider_runtime.scenarios.runner import ScenarioRunner

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "dags_examples" / "scenarios"
SCENARIOS = load_scenarios([HERE, EXAMPLES])

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.file.stem}: {scenario.name}")
def test_scenario(scenario: LoadedScenario, scenario_runner: ScenarioRunner) -> None:
    result = scenario_runner.run(scenario)
    assert result.status == "passed", render_result(result, color=False)

"""Which files of a folder are scenarios."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_runtime.scenarios.loading import load_scenarios

BROKEN = "scenario: totals\nrun: {project: p, period: [}\n"


def test_scenario_that_is_not_yaml_is_not_passed_over_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (found,) = load_scenarios([tmp_path])
    assert found.scenario is None
    assert [problem.code for problem in found.problems] == ["CATALOG_001"]


def test_other_files_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "dataset.yaml").write_text("dataset: {id: [}\n")
    (tmp_path / "orders.yaml").write_text("datasource: {id: lake, type: csv}\n")
    assert load_scenarios([tmp_path]) == []


def test_scenario_of_a_run_before_1970_is_refused_at_its_place(tmp_path: Path) -> None:
    run = 'run: {project: p, period: 1960-01, timestamp: "1960-01-01T00:00:00Z"}'
    (tmp_path / "early.yaml").write_text(f"scenario: early\n{run}\ndata: []\nexpect: {{error: {{code: DATA_001}}}}\n")
    (found,) = load_scenarios([tmp_path])
    (problem,) = found.problems
    assert (problem.code, problem.location.line) == ("CATALOG_002", 2)
    assert "before 1970" in problem.message

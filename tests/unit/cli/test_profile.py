"""`run --profile`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.cli.profile import make_profile
from spark_jobs.contract.report import OperationReport, Report, name_step
from spark_jobs.spark.stages import Stage


def stage(number: int, read: int, written: int) -> Stage:
    return Stage(number, "save", 2, 1.5, 1.25, 0.0, 10, read, 300, 0, 5, written)


def test_each_step_has_the_stages_of_its_jobs() -> None:
    update = OperationReport(10, "update", "tag", 3, 5, 0.0, 20)
    output = OperationReport(20, "output", "out", 5, 5, 2.5, 20)
    timings = {"load_seconds": 1.0, "check_seconds": 0.1, "publish_seconds": 0.2, "total_seconds": 4.0}
    report = Report("a" * 64, 1, "succeeded", "run-1", "2026-01", (update, output), timings=timings)
    stages = {name_step(20, "out"): [stage(4, 100, 0), stage(5, 20, 900)], "checks": [stage(6, 7, 0)]}
    profile = make_profile("close", report, stages)
    assert (profile["project"], profile["period"], profile["seconds"]) == ("close", "2026-01", 4.0)
    steps = {step["step"]: step for step in profile["steps"]}
    assert list(steps) == [
        "opening the sources",
        "operation 10 tag",
        "operation 20 out",
        "computing what no output reads",
        "checks",
        "publishing",
    ]
    assert steps["operation 10 tag"]["computed_with"] == 20
    written = steps["operation 20 out"]
    assert written["computes"] == [10]
    sums = [written[key] for key in ("bytes_read", "bytes_written", "bytes_shuffled", "tasks", "task_seconds")]
    assert sums == [120, 900, 600, 4, 3.0]
    assert [found["stage"] for found in written["stages"]] == [4, 5]
    assert steps["checks"]["bytes_read"] == 7
    assert steps["publishing"]["stages"] == []


@pytest.mark.parametrize("more", [("--dry-run",), ("--master", "sc://localhost:15002")])
def test_profile_needs_a_spark_of_this_process(tmp_path: Path, more: tuple[str, ...]) -> None:
    arguments = ["run", "--catalog", str(tmp_path), "--project", "p", "--period", "2026-01", "--profile", "p.json"]
    result = CliRunner().invoke(root_command, [*arguments, *more])
    assert result.exit_code == 2
    assert "--profile needs a Spark that runs in this process" in result.output

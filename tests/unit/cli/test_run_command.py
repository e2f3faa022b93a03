"""The command run, as far as it goes without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli import local_spark
from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from tests.unit.planning.resolve_builder import DATASETS, MONTHLY, PLACES, write_project, write_resolver


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "---\n".join([PLACES, DATASETS, write_resolver(MONTHLY), write_project()])
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "all.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(root_command, ["run", *arguments])


def test_dry_run_of_a_snapshot_shows_the_plan_and_runs_nothing(folder: Path) -> None:
    resolve = ["resolve", "--project", "conversion", "--period", "2026-01", "--output", "store/"]
    uri = CliRunner().invoke(root_command, resolve).stderr.split()[2]
    result = invoke("--snapshot", uri, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "conversion, period 2026-01, as of 2026-01-01: nothing was run" in result.output
    assert not (folder / "catalog" / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--snapshot", "x.json", "--as-of", "2026-01-01"), "leave --as-of out"),
        (("--snapshot", "x.json", "--timestamp", "2026-01-01"), "leave --timestamp out"),
        (("--snapshot", "x.json", "--sandbox", "box"), "leave --sandbox out"),
        (("--snapshot", "x.json", "--project", "p"), "leave --project and --period out"),
        (("--project", "p", "--period", "2026-01", "--sha256", "a"), "belongs to --snapshot"),
        (("--project", "p", "--period", "2026-01", "--conf", "hunter2"), "KEY=VALUE"),
        (("--project", "p"), "give --project and --period"),
    ],
)
def test_wrong_usage_exits_2_and_repeats_no_value(folder: Path, arguments: tuple[str, ...], reason: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert reason in result.output
    assert "hunter2" not in result.output
    assert not (folder / ".runtime").exists()


def test_spark_that_does_not_start_is_tried_once_and_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def fail(master: str, conf: dict[str, str]) -> None:
        starts.append((master, conf))
        raise InfrastructureError(Problem("INFRA_001", "Spark did not start", "set JAVA_HOME"))

    monkeypatch.setattr(local_spark, "start_spark", fail)
    result = invoke("--project", "conversion", "--period", "2026-01", "--report", "report.json")
    assert result.exit_code == 1
    assert len(starts) == 1
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert (report["status"], report["error"]["code"]) == ("failed", "INFRA_001")

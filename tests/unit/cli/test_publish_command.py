"""`publish` and `discard` of what a run has staged, and who may; the Spark job is replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli import local_spark
from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.core.registry.sql import open_registry
from spark_jobs import job as job_module
from spark_jobs.contract.hidden_folder import get_lock_uri
from spark_jobs.contract.report import OutputReport, Report, StagedReport
from spark_jobs.contract.snapshot import Snapshot
from tests.unit.core.planning.resolve_builder import DATASETS, MONTHLY, PLACES, write_project, write_resolver

APPROVAL = "  publication: {approval: required, by: [ann, ben]}\n"


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the job was asked for."""
    asked: list[str] = []

    def run_snapshot(spark: object, snapshot: Snapshot, attempt: int, *, keep_until: Any, **_: object) -> Report:
        asked.append("stage" if keep_until else "run")
        status: Any = "staged" if keep_until else "succeeded"
        output = OutputReport(90, "d", 1, ("a",), staged=StagedReport("abc") if keep_until else None)
        period = snapshot.period.identifier
        return Report(snapshot.sha256, attempt, status, snapshot.run_id, period, outputs=(output,))

    def publish_staged(spark: object, snapshot: Snapshot, staged: Report, **_: object) -> Report:
        asked.append("publish")
        return replace(staged, status="succeeded")

    monkeypatch.setattr(job_module, "run_snapshot", run_snapshot)
    monkeypatch.setattr(job_module, "publish_staged", publish_staged)
    monkeypatch.setattr(job_module, "discard_staged", lambda *_: asked.append("discard"))
    monkeypatch.setattr(local_spark, "start_spark", lambda *_, **__: SimpleNamespace(interruptAll=list, stop=list))
    return asked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "catalog").mkdir()
    monkeypatch.chdir(tmp_path)
    write_catalog(tmp_path)
    return tmp_path


def write_catalog(folder: Path, publication: str = "") -> None:
    text = "---\n".join([PLACES, DATASETS, write_resolver(MONTHLY), write_project().rstrip() + "\n" + publication])
    (folder / "catalog" / "all.yaml").write_text(text, encoding="utf-8")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(root_command, arguments)


def run(*arguments: str) -> str:
    result = invoke("run", "--project", "conversion", "--period", "2026-01", *arguments)
    assert result.exit_code == 0, result.output
    return str(json.loads(invoke("runs", "--format", "json").stdout)[0]["run_id"])


def get_status() -> str:
    return str(json.loads(invoke("runs", "--format", "json").stdout)[0]["status"])


def test_staged_run_is_published_once(folder: Path, job: list[str]) -> None:
    run_id = run("--stage-only")
    assert get_status() == "staged"
    assert invoke("publish", run_id).exit_code == 0
    assert get_status() == "succeeded"
    again = invoke("publish", run_id)
    assert again.exit_code == 0
    assert "it was published before" in again.output
    assert job == ["stage", "publish"]


def test_staged_run_is_published_from_another_working_folder(
    folder: Path, job: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run("--stage-only")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert invoke("publish", run_id, "--catalog", "../catalog").exit_code == 0


def test_discarded_run_is_not_published(folder: Path, job: list[str]) -> None:
    run_id = run("--stage-only")
    assert invoke("discard", run_id, "--comment", "wrong rates").exit_code == 0
    assert get_status() == "discarded"
    refused = invoke("publish", run_id)
    assert refused.exit_code == 1
    assert "RUN_002" in refused.output
    assert "wrong rates" in refused.output
    assert job == ["stage", "discard"]


def test_run_that_was_overtaken_is_not_published(folder: Path, job: list[str]) -> None:
    first = run("--stage-only")
    second = run("--stage-only")
    assert "RUN_002" in invoke("publish", first).output
    invoke("publish", second)
    assert "PLAN_001" in invoke("publish", first).output


def test_locked_period_is_not_published(folder: Path, job: list[str]) -> None:
    run_id = run("--stage-only")
    invoke("periods", "--lock", "2026-01", "--reason", "audited")
    assert "PERIOD_002" in invoke("publish", run_id).output
    assert job == ["stage"]


def test_period_that_its_calendars_file_has_locked_is_not_published(folder: Path, job: list[str]) -> None:
    calendar = """---
calendar:
  id: fiscal
  levels: [{name: month}]
  periods: [{identifier: 2026-01, level: month, start_date: 2026-01-01, end_date: 2026-01-31, status: open}]
"""
    everything = folder / "catalog" / "all.yaml"
    text = "---\n".join([PLACES, DATASETS, write_resolver(MONTHLY), write_project(calendar="fiscal")]) + calendar
    everything.write_text(text, encoding="utf-8")
    run_id = run("--stage-only")
    everything.write_text(text.replace("status: open", "status: locked"), encoding="utf-8")
    refused = invoke("publish", run_id)
    assert refused.exit_code == 1
    assert "PERIOD_002" in refused.output
    assert job == ["stage"]


def test_run_that_is_not_known_is_reported(folder: Path, job: list[str]) -> None:
    refused = invoke("publish", "nobody")
    assert refused.exit_code == 1


def become(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda uid: SimpleNamespace(pw_name=name))


def test_variables_of_the_environment_make_nobody_another_user(
    folder: Path, job: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_catalog(folder, APPROVAL)
    become(monkeypatch, "ann")
    run_id = run()
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "ben")
    assert "APPROVAL_001 'ann' ran" in invoke("publish", run_id, "--comment", "ok").output
    assert job == ["stage"]


def test_second_person_publishes_what_needs_an_approval(
    folder: Path, job: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_catalog(folder, APPROVAL)
    become(monkeypatch, "ann")
    run_id = run()
    assert (get_status(), job) == ("staged", ["stage"])
    assert "APPROVAL_001 'ann' ran conversion for period 2026-01" in invoke("publish", run_id, "--comment", "ok").output
    assert "cannot be claimed" in str(invoke("publish", run_id, "--comment", "ok", "--as", "ben").exception)
    become(monkeypatch, "cid")
    assert "'cid' is not an approver" in invoke("publish", run_id, "--comment", "ok").output
    monkeypatch.setenv("AIRFLOW_RUNTIME_ALLOW_AS", "1")
    assert "needs a comment" in invoke("publish", run_id, "--as", "ben").output
    assert invoke("publish", run_id, "--as", "ben", "--comment", "totals agree").exit_code == 0
    (kept,) = open_registry("sqlite:///.runtime/registry.db").list_approvals(run_id)
    assert (kept.decision, kept.preparer, kept.approver) == ("approved", "ann", "ben")
    assert (kept.claimed_name, kept.real_user, kept.comment) == ("ben", "cid", "totals agree")
    assert kept.host


def test_lock_leaves_a_mark_at_the_tables_of_the_period(folder: Path, job: list[str]) -> None:
    run_id = run()
    document = json.loads(next((folder / ".runtime" / "snapshots").glob("*.json")).read_text())
    destination = next(op["destination"] for op in document["plan"]["operations"] if op["type"] == "output")
    assert invoke("periods", "--lock", "2026-Q1", "--reason", "audited").exit_code == 0
    mark = Path(get_lock_uri(destination["uri"], "gregorian", "2026-Q1").removeprefix("file://"))
    assert json.loads(mark.read_text())["reason"] == "audited"
    assert run_id


def test_release_is_recorded_and_needs_a_reason(folder: Path, job: list[str]) -> None:
    run()
    assert invoke("runs", "--release", "conversion", "2026-01").exit_code == 2
    released = invoke("runs", "--release", "conversion", "2026-01", "--reason", "a clock ran ahead")
    assert released.exit_code == 0
    assert "released: the next attempt of conversion for 2026-01 passes" in released.stderr

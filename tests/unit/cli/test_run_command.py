"""The command run, as far as it goes without Spark."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli import local_spark
from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.cli.report_files import write_report
from airflow_provider_runtime.cli.run_summary import add_source_line, print_plan
from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.errors import InfrastructureError, PeriodError, Place, Problem
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.transactional import TransactionalRegistry
from airflow_provider_runtime.core.runs import execution
from spark_jobs import job as job_module
from spark_jobs.contract.report import ErrorReport, OutputReport, Report
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.errors import JobError
from tests.unit.core.planning.resolve_builder import DATASETS, MONTHLY, PLACES, resolve, write_project, write_resolver
from tests.unit.core.planning.test_snapshot_builder import RESOLVER, publish, write_consumer


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(root_command, ["run", *arguments])


def test_dry_run_of_a_snapshot_shows_the_plan_and_runs_nothing(folder: Path) -> None:
    resolve = ["resolve", "--project", "conversion", "--period", "2026-01", "--output", "store/"]
    uri = CliRunner().invoke(root_command, resolve).stderr.split()[2]
    result = invoke("--snapshot", uri, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "conversion, period 2026-01, as of 2026-01-01: nothing was run" in result.output
    assert not (folder / "catalog" / "data").exists()


def test_dry_run_says_of_every_location_whether_it_is_there(folder: Path) -> None:
    asked = ("--project", "conversion", "--period", "2026-01", "--dry-run")
    before = invoke(*asked).output
    (row,) = [line for line in before.splitlines() if line.startswith("input ") and "file:" in line]
    assert row.split()[-2:] == ["no", "error"]
    file = Path(row.split()[1].removeprefix("file://"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x")

    (row,) = [line for line in invoke(*asked).output.splitlines() if line.startswith("input ") and "file:" in line]

    assert row.split()[-2:] == ["yes", "error"]


OPENING = """
dataset:
  id: opening
  name: Opening
  version: 1
  resolver_id: registry
  period_shift: -1
  on_missing: empty
  main_table: {name: Closing, temporal_mode: period, columns: [{name: account, type: string}]}
---
project:
  id: carried
  name: carried
  version: 1
  input_dataset_id: opening
  operations:
    - seq: 10
      name: write
      type: output
      arguments: {destination: {type: parquet, path: out/closing}, register_as_dataset: Closing}
"""


def test_dry_run_names_a_registered_dataset_without_data(folder: Path) -> None:
    (folder / "catalog" / "carried.yaml").write_text(OPENING, encoding="utf-8")
    said = invoke("--project", "carried", "--period", "2026-01", "--dry-run").output
    (row,) = [line for line in said.splitlines() if line.startswith("input ") and "no location" in line]
    assert row.split()[-2:] == ["no", "empty"]


def test_mistake_of_every_period_is_reported_once_and_listed_for_each(folder: Path) -> None:
    path = folder / "catalog" / "all.yaml"
    path.write_text(path.read_text("utf-8").replace("dataset_id: ", "dataset_id: no-"), encoding="utf-8")
    result = invoke("--project", "conversion", "--period", "2026-01..2026-03", "--keep-going")
    assert result.exit_code == 1
    assert result.stderr.count("DATASET_001") == 1
    assert "2026-03: failed, for the same reason as 2026-02" in result.stderr
    listed = [line.split()[:3] for line in result.stdout.splitlines() if "2026-0" in line]
    assert listed == [["conversion", f"2026-0{month}", "failed"] for month in (1, 2, 3)]


CALENDAR = """---
calendar:
  id: fiscal
  levels: [{{name: year}}, {{name: month, parent_level: year}}]
  periods:
    - {{identifier: FY26, level: year, start_date: 2026-01-01, end_date: 2026-12-31, status: {year}}}
    - {{identifier: 2026-01, level: month, parent: FY26, start_date: 2026-01-01, end_date: 2026-01-31, status: {month}}}
"""


@pytest.mark.parametrize(
    ("statuses", "options", "reason"),
    [
        ({"month": "locked"}, ("--allow-closed",), "period 2026-01 is locked in the calendar's file"),
        ({"month": "closed"}, (), "period 2026-01 is closed in the calendar's file"),
        ({"year": "locked"}, (), "period 2026-01 is part of FY26, which is locked in the calendar's file"),
        ({"month": "locked"}, ("--catalog", "elsewhere"), "catalog folder does not exist"),
    ],
)
def test_snapshot_does_not_run_for_a_period_that_its_calendar_has_closed_since(
    folder: Path, statuses: dict[str, str], options: tuple[str, ...], reason: str
) -> None:
    text = "---\n".join([PLACES, DATASETS, write_resolver(MONTHLY), write_project(calendar="fiscal")])
    everything = folder / "catalog" / "all.yaml"
    everything.write_text(text + CALENDAR.format(year="open", month="open"), encoding="utf-8")
    resolve = ["resolve", "--project", "conversion", "--period", "2026-01", "--output", "store/"]
    uri = CliRunner().invoke(root_command, resolve).stderr.split()[2]
    everything.write_text(text + CALENDAR.format(**{"year": "open", "month": "open"} | statuses), encoding="utf-8")
    result = invoke("--snapshot", uri, "--master", "sc://127.0.0.1:1", *options)
    assert result.exit_code == 1
    assert reason in result.output


def test_dry_run_of_a_snapshot_from_elsewhere_forges_no_line(folder: Path) -> None:
    document = json.loads(resolve(write_resolver(MONTHLY), write_project()).content)
    document["project"]["name"] = "a\u202eb\nsucceeded \x1b[2J\u200b\u200f\u061c\u2060\ufeff"
    content = json.dumps(document).encode()
    (folder / "s.json").write_bytes(content)
    result = invoke("--snapshot", "s.json", "--sha256", hashlib.sha256(content).hexdigest(), "--dry-run")
    assert "period 2026-01" in result.output
    assert all(line.isprintable() and not line.startswith("succeeded") for line in result.output.split("\n"))


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

    def fail(master: str, conf: dict[str, str], *, is_small: bool) -> None:
        starts.append((master, conf, is_small))
        raise InfrastructureError(Problem("INFRA_001", "Spark did not start", "set JAVA_HOME"))

    monkeypatch.setattr(local_spark, "start_spark", fail)
    result = invoke("--project", "conversion", "--period", "2026-01", "--report", "report.json")
    assert result.exit_code == 1
    assert len(starts) == 1
    assert starts[0][2], "a sample of a few rows is small"
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert (report["status"], report["error"]["code"]) == ("failed", "INFRA_001")


@pytest.mark.parametrize(
    "option", ["password: hunter2", "url: 'jdbc:pg://h/d?user=a&passwor%64=hunter2'", '"pass\\x77ord": hunter2']
)
def test_line_that_validate_hides_is_not_shown_by_run(folder: Path, option: str) -> None:
    everything = folder / "catalog" / "all.yaml"
    text = everything.read_text("utf-8")
    everything.write_text(text.replace('mergeSchema: "false"', option), encoding="utf-8")
    result = invoke("--project", "conversion", "--period", "2026-01")
    assert result.exit_code == 1
    assert "CATALOG_002" in result.output
    assert "hunter2" not in result.output


def test_problem_of_the_job_is_shown_with_its_line_unless_that_may_show_a_secret(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("name: a\u2028b\x85\nexpression: amnt\npassword: hunter2\n".encode())

    def show(line: int) -> str | None:
        problem = Problem("DATA_001", "does not fit", location=Place(file="a.yaml", line=line))
        return add_source_line(problem, tmp_path).location.source_line

    assert [show(line) for line in (2, 3, 9)] == ["expression: amnt", None, None]


@pytest.mark.parametrize("report", ["taken/report.json", "taken/below/report.json"])
def test_report_that_has_no_place_is_wrong_usage_before_the_run(folder: Path, report: str) -> None:
    (folder / "taken").write_text("a file")
    result = invoke("--project", "conversion", "--period", "2026-01", "--report", report)
    assert result.exit_code == 2
    assert "--report" in result.output
    assert not (folder / ".runtime").exists()


def test_report_into_a_pipe_leaves_the_pipe_where_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=write_report, args=(pipe, [{"status": "succeeded"}]), kwargs={"several": False})
    writer.start()
    read = pipe.read_text("utf-8")
    writer.join()
    assert json.loads(read) == {"status": "succeeded"}
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_invalid_master_is_refused_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_spark, "_start_session", lambda *_, **__: pytest.fail("it was started"))
    with pytest.raises(InfrastructureError, match=r"'bogus\[' is not a master"):
        local_spark.start_spark("bogus[", {})


@pytest.mark.parametrize(
    ("master", "told"), [("lokal", "'lokal' is not a master"), ("warm", "no warm Spark is running")]
)
def test_master_that_cannot_be_used_leaves_no_failed_run(
    folder: Path, master: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_provider_runtime.cli.warm_spark.find_warm_spark", lambda: None)
    result = invoke("--project", "conversion", "--period", "2026-01", "--master", master, "--report", "report.json")
    assert result.exit_code == 1
    assert told in result.stderr
    assert json.loads((folder / "report.json").read_text("utf-8"))["error"]["code"] == "INFRA_001"
    assert CliRunner().invoke(root_command, ["runs"]).stdout == "no runs yet\n"


def test_session_that_does_not_start_says_that_java_may_be_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")

    monkeypatch.setattr(local_spark, "_start_session", fail)
    monkeypatch.setattr(local_spark, "require_java", lambda: None)
    with pytest.raises(InfrastructureError) as caught:
        local_spark.start_spark("local[2]", {})
    assert "Java 17" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize("master", ["sc:/h:1/;token=hunter2", "spark//u:hunter2@h", "h?token=hunter2"])
def test_secret_in_an_invalid_master_is_not_repeated(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InfrastructureError) as caught:
        local_spark.start_spark(master, {})
    (problem,) = caught.value.problems
    assert "hunter2" not in f"{problem} {problem.hint}"


@pytest.mark.parametrize(
    "uri",
    [
        "http://u:hunter2@h/x.json", "s3://u:hunter2@h/x.json", "file://u:hunter2@h/x.json", "file:u:hunter2@h",
        "http://u:a/hunter2@b@h/x", "https://h/x.json?sig=hunter2", "file://[", "file:///%00", "u:hunter2@h/x",
    ],
)  # fmt: skip
def test_snapshot_at_an_invalid_address_is_refused_without_its_secret(folder: Path, uri: str) -> None:
    result = invoke("--snapshot", uri)
    assert result.exit_code == 1
    assert "SNAPSHOT_001" in result.output
    assert "hunter2" not in result.output


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2,3]", "local-cluster[2,1,1024]", "yarn", "k8s://h"])
def test_masters_that_spark_accepts_are_accepted(master: str) -> None:
    assert local_spark.MASTER.fullmatch(master)


def test_job_learns_that_its_period_was_locked_while_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = MemoryRegistry()
    snapshot = resolve(write_resolver(MONTHLY), write_project(), registry=registry)
    told: list[str] = []

    def run_snapshot(*_: object, before_publish: Callable[[], None], **__: object) -> Report:
        registry.set_period_status("gregorian", "2026-01", "locked", who="ann", reason="audited")
        with pytest.raises(JobError) as caught:
            before_publish()
        told.append(str(caught.value))
        return Report(snapshot.sha256, 1, "failed")

    monkeypatch.setattr(job_module, "run_snapshot", run_snapshot)
    runner = LocalRunner(registry, lambda: None, told.append)  # type: ignore[arg-type, return-value]
    with pytest.raises(PeriodError):
        runner.execute(snapshot, "file:/s")
    assert told[0].startswith("PERIOD_002: period 2026-01")


JOB_ERROR = ErrorReport("OUTPUT_003", "the disk is full")


@pytest.mark.parametrize(
    ("job_report", "reason", "said"),
    [
        ({"status": "succeeded"}, "away", "failed while it published: run it again to complete that\nINFRA_001"),
        ({"status": "succeeded"}, "locked", "failed while it published: outputs may be there already\nPERIOD_002"),
        ({"status": "failed", "cut_short": True}, "locked", "failed while it published: outputs may be there already"),
        ({"status": "failed", "cut_short": True}, "away", "failed while it published: run it again to complete that"),
        ({"status": "failed"}, "away", "failed, nothing was published\nOUTPUT_003"),
    ],
)
def test_failure_after_outputs_were_swapped_in_does_not_say_that_nothing_was_published(
    folder: Path, monkeypatch: pytest.MonkeyPatch, job_report: dict[str, Any], reason: str, said: str
) -> None:
    """The registry goes away, or the period is locked, while the job publishes."""

    def run_snapshot(spark: object, snapshot: Snapshot, attempt: int, **_: object) -> Report:
        if reason == "locked":
            lock = ["periods", "--lock", "2026-01", "--reason", "audited"]
            assert CliRunner().invoke(root_command, lock).exit_code == 0
            Event().wait(1)
        else:
            for name in ("finish_attempt", "fail_attempt"):
                monkeypatch.setattr(TransactionalRegistry, name, fail)
        error = None if job_report["status"] == "succeeded" else JOB_ERROR
        return replace(make_report(snapshot, attempt, error), **job_report)

    def fail(*_: object) -> None:
        raise InfrastructureError(Problem("INFRA_001", "the registry does not answer"))

    monkeypatch.setattr(job_module, "run_snapshot", run_snapshot)
    monkeypatch.setattr(execution, "keep_alive", partial(execution.keep_alive, interval_seconds=0.1))
    monkeypatch.setattr(local_spark, "start_spark", lambda *_, **__: SimpleNamespace(interruptAll=list, stop=list))
    result = invoke("--project", "conversion", "--period", "2026-01")
    assert result.exit_code == 1
    assert f"2026-01: {said}" in result.output


def test_periods_that_were_not_run_are_counted_where_the_list_is_cut(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        job_module, "run_snapshot", lambda _, found, attempt, **__: make_report(found, attempt, JOB_ERROR)
    )
    monkeypatch.setattr(local_spark, "start_spark", lambda *_, **__: SimpleNamespace(interruptAll=list, stop=list))
    result = invoke("--project", "conversion", "--period", "2026-01..2026-12")
    assert result.exit_code == 1
    shown = ", ".join(f"2026-{month:02}" for month in range(2, 10))
    assert f"stopped: 11 periods were not run ({shown} and 3 more)" in result.output


def make_report(snapshot: Snapshot, attempt: int, error: ErrorReport | None = None) -> Report:
    """Return what the job reports, with an output where it has succeeded."""
    outputs = () if error else (OutputReport(90, "d", 1, ("a",)),)
    status: Literal["succeeded", "failed"] = "failed" if error else "succeeded"
    return Report(snapshot.sha256, attempt, status, snapshot.run_id, "2026-01", outputs=outputs, error=error)


def test_snapshot_that_was_tampered_with_is_refused_before_anything_is_done(folder: Path) -> None:
    resolve = ["resolve", "--project", "conversion", "--period", "2026-01", "--output", "store/"]
    stored = Path(CliRunner().invoke(root_command, resolve).stderr.split()[2].removeprefix("file://"))
    document = json.loads(stored.read_bytes())
    assignment = next(item for op in document["plan"]["operations"] for item in op.get("assignments", ()))
    assignment["sql"] = "java_method('java.lang.System', 'exit')"
    (folder / "bad.json").write_text(json.dumps(document))
    digest = hashlib.sha256((folder / "bad.json").read_bytes()).hexdigest()
    result = invoke("--snapshot", "bad.json", "--sha256", digest, "--report", "report.json")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "SNAPSHOT_001" in result.output
    assert "java_method(" in result.output
    assert json.loads((folder / "report.json").read_text())["error"]["code"] == "SNAPSHOT_001"
    assert CliRunner().invoke(root_command, ["runs"]).output == "no runs yet\n"


def test_registered_dataset_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    registry = MemoryRegistry()
    publish(registry, resolve(RESOLVER, write_project(), registry=registry))
    print_plan(resolve(RESOLVER, write_project(), write_consumer(), registry=registry, project="consumer"), is_own=True)
    shown = capsys.readouterr().out
    assert [line.split()[:5] for line in shown.splitlines() if line.startswith("join ")] == [
        ["join", "operation", "10", "old", "Converted"]
    ]
    assert registered_dataset_id("Converted GL") not in shown[: shown.index("read from")]

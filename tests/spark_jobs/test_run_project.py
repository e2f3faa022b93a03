from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.job_package import build_job_package
from spark_jobs import run_project
from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.fingerprints import FileState, take_fingerprint
from spark_jobs.contract.snapshot import parse_snapshot
from spark_jobs.errors import JobError
from spark_jobs.job import run_snapshot
from spark_jobs.submitter import SUBMITTER_VARIABLE, describe_process
from tests.spark_jobs.plan_builders import PlanBuilder, files, memory, start
from tests.spark_jobs.publishing import read_names

pytestmark = pytest.mark.spark

COLUMNS = [("id", "bigint"), ("name", "string")]


def make_plan(uri: Path, *rows: tuple[str | None, ...], assigned: str = "upper(`@w`.`name`)") -> PlanBuilder:
    plan = start(COLUMNS, memory(["id", "name"], *rows))
    plan.update(("name", "string", assigned))
    plan.output("id", "name")
    plan.operations[-1]["destination"] |= {"uri": f"file://{uri}", "display": "lake/fx"}
    return plan


def write_snapshot(plan: PlanBuilder, folder: Path) -> tuple[Path, str]:
    document = plan.document()
    document["plan"]["marks"] = {"20": {"file": "project.yaml", "line": 12, "column": 3, "operation_seq": 20}}
    content = json.dumps(document).encode()
    digest = hashlib.sha256(content).hexdigest()
    path = folder / f"{digest}.json"
    path.write_bytes(content)
    return path, digest


def run_job(*arguments: object, command: tuple[str, ...] = (sys.executable, "-m", "spark_jobs.run_project")) -> Any:
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_run_snapshot_publishes_and_reports(spark: SparkSession, tmp_path: Path) -> None:
    lines: list[str] = []
    snapshot = make_plan(tmp_path / "fx", ("1", "a"), ("2", "b")).snapshot()
    report = run_snapshot(spark, snapshot, 1, progress=lines.append).to_dict()
    assert read_names(spark, tmp_path / "fx") == ["A", "B"]
    assert (report["status"], report["attempt"], report["error"], report["exit_code"]) == ("succeeded", 1, None, 0)
    assert report["rows_in"] == 2
    assert [(o["seq"], o["type"], o["rows_affected"]) for o in report["operations"]] == [
        (10, "update", 2),
        (20, "output", 2),
    ]
    assert report["outputs"] == [
        {
            "seq": 20,
            "destination": "lake/fx",
            "rows": 2,
            "columns": ["id", "name"],
            "registered_dataset": None,
            "slice": None,
            "staged": None,
            "table": None,
        }
    ]
    assert any(line.startswith("operation 10 update") for line in lines)
    assert lines[-1] == "published 2 rows to lake/fx"


def test_report_says_what_was_read_and_how_it_differs_from_before(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text("id,name\n1,a\n", encoding="utf-8")
    plan = start(COLUMNS, files(source, "csv")).output("id", "name")
    plan.operations[-1]["destination"] |= {"uri": f"file://{tmp_path}/out"}
    snapshot, lines = plan.snapshot(), []
    first = run_snapshot(spark, snapshot, 1, progress=lines.append)
    (read,) = first.to_dict()["sources"]
    state = FileState(f"file://{source}/a.csv", 12, (source / "a.csv").stat().st_mtime_ns // 1_000_000)
    assert read == {
        "table": "w",
        "dataset_id": "in",
        "version": 1,
        "files": 1,
        "bytes": 12,
        "fingerprint": take_fingerprint([state]),
    }
    again = run_snapshot(spark, snapshot, 2, progress=lines.append, earlier=first, verify=True)
    assert (again.status, again.sources, again.differences) == ("succeeded", first.sources, ())
    (source / "b.csv").write_text("id,name\n2,b\n", encoding="utf-8")
    told = (
        "table 'w' of dataset 'in' is read from 2 files of 24 bytes, which are not those of the earlier execution "
        "(1 files of 12 bytes)"
    )
    refused = run_snapshot(spark, snapshot, 3, progress=lines.append, earlier=first, verify=True)
    assert refused.error is not None
    assert (refused.status, refused.exit_code, refused.error.code, refused.error.message) == (
        "failed",
        11,
        "DATA_004",
        told,
    )
    assert read_names(spark, tmp_path / "out") == ["a"]
    changed = run_snapshot(spark, snapshot, 4, progress=lines.append, earlier=first)
    assert changed.differences == (told, "output 10 has 2 rows, 1 in the earlier execution")
    assert f"differs: {told}" in lines
    assert read_names(spark, tmp_path / "out") == ["a", "b"]


def test_rows_staged_in_a_folder_whose_name_is_a_pattern_are_read_back(spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, name string").write.parquet(str(tmp_path / "in"))
    plan = start(COLUMNS, files(tmp_path / "in")).update(("name", "string", "upper(`@w`.`name`)"))
    for table in ("usd [2026]", "{a,b} *?"):
        plan.output("id", "name")
        plan.operations[-1]["destination"] |= {"uri": f"file://{tmp_path}/{table}"}
    report = run_snapshot(spark, plan.snapshot(), 1, progress=lambda _: None)
    assert (report.error, [output.rows for output in report.outputs]) == (None, [2, 2])
    for table in ("usd [2026]", "{a,b} *?"):
        assert read_names(spark, escape_pattern(f"{tmp_path}/{table}")) == ["A", "B"]


def test_run_snapshot_that_fails_publishes_nothing_and_reports_why(spark: SparkSession, tmp_path: Path) -> None:
    snapshot = make_plan(tmp_path / "fx", ("x", "a")).snapshot()
    report = run_snapshot(spark, snapshot, 1, progress=lambda _: None)
    assert report.error is not None
    assert (report.status, report.error.code, report.exit_code) == ("failed", "DATA_003", 11)
    assert not (tmp_path / "fx").exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_run_snapshot_stopped_before_it_publishes_leaves_everything(spark: SparkSession, tmp_path: Path) -> None:
    def refuse() -> None:
        raise JobError("RUN_002", "the period was locked")

    snapshot = make_plan(tmp_path / "fx", ("1", "a")).snapshot()
    report = run_snapshot(spark, snapshot, 1, progress=lambda _: None, before_publish=refuse)
    assert report.error is not None
    assert (report.error.code, (tmp_path / "fx").exists()) == ("RUN_002", False)


def test_run_snapshot_stopped_when_all_is_published_says_that_it_was_cut_short(
    spark: SparkSession, tmp_path: Path
) -> None:
    def stop(line: str) -> None:
        if line.startswith("published"):
            raise JobError("INFRA_001", "the job was stopped by signal 15")

    snapshot = make_plan(tmp_path / "fx", ("1", "a")).snapshot()
    report = run_snapshot(spark, snapshot, 1, progress=stop)
    assert report.error is not None
    assert (report.status, report.error.code, report.cut_short) == ("failed", "INFRA_001", True)
    assert read_names(spark, tmp_path / "fx") == ["A"]
    assert run_snapshot(spark, snapshot, 2, progress=lambda _: None).status == "succeeded"
    assert read_names(spark, tmp_path / "fx") == ["A"]


def test_run_snapshot_with_a_destination_in_the_way_points_at_the_yaml(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    path, digest = write_snapshot(make_plan(tmp_path / "file" / "fx", ("1", "a")), tmp_path)
    report = run_snapshot(spark, parse_snapshot(path.read_bytes(), digest), 1, progress=lambda _: None)
    assert report.error is not None
    assert (report.error.code, report.error.line, report.exit_code) == ("OUTPUT_003", 12, 12)


def test_job_submitted_with_its_package_publishes_and_reports(tmp_path: Path) -> None:
    package = build_job_package(tmp_path / "job")
    snapshot, digest = write_snapshot(make_plan(tmp_path / "fx", ("1", "a")), tmp_path)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    submitted = subprocess.run(
        [
            Path(sys.executable).with_name("spark-submit"),
            *("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--driver-memory", "1g"),
            *("--py-files", package.archive, package.application),
            *("--snapshot", f"file://{snapshot}", "--sha256", digest, "--attempt", "1"),
            *("--report", tmp_path / "report.json"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=False,
    )
    assert submitted.returncode == 0, submitted.stderr[-3000:]
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert (report["status"], report["snapshot_sha256"], report["outputs"][0]["rows"]) == ("succeeded", digest, 1)
    assert len(list(tmp_path.glob("fx/period=2026-01/*.parquet"))) == 1
    assert "operation 20 output" in submitted.stdout


def test_job_with_another_digest_ends_before_spark_starts(tmp_path: Path) -> None:
    snapshot, _ = write_snapshot(make_plan(tmp_path / "fx", ("1", "a")), tmp_path)
    ended = run_job(
        "--snapshot", snapshot, "--sha256", "0" * 64, "--attempt", 1, "--report", tmp_path / "deep" / "report.json"
    )
    assert ended.returncode == 10, ended.stderr
    report = json.loads((tmp_path / "deep" / "report.json").read_bytes())
    assert (report["status"], report["error"]["code"], report["attempt"]) == ("failed", "SNAPSHOT_001", 1)
    assert "Traceback" not in ended.stderr


def test_job_without_its_snapshot_says_so(tmp_path: Path) -> None:
    ended = run_job("--snapshot", tmp_path / "none.json", "--sha256", "0" * 64, "--attempt", 1)
    assert ended.returncode == 10
    assert json.loads(ended.stdout)["error"]["code"] == "SNAPSHOT_001"


def test_job_whose_report_cannot_be_written_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ended = run_job(
        "--snapshot", tmp_path / "no", "--sha256", "0" * 64, "--attempt", 1, "--report", tmp_path / "file" / "r.json"
    )
    assert ended.returncode == 10
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_job_called_wrongly_ends_with_usage(tmp_path: Path) -> None:
    assert run_job("--snapshot", "x").returncode == 2


@pytest.mark.parametrize(
    ("step", "number", "published"),
    [
        pytest.param("exchange", 1, [], marks=pytest.mark.chaos),
        ("exchange", 2, ["fx"]),
        pytest.param("write_bytes", 1, ["fx", "fy"], marks=pytest.mark.chaos),
    ],
)
def test_driver_killed_while_it_publishes_is_completed_by_the_retry(
    spark: SparkSession, tmp_path: Path, step: str, number: int, published: list[str]
) -> None:
    """Two outputs: the swaps are the calls of exchange, the report that of write_bytes."""
    quiet = lambda _: None  # noqa: E731
    before, after = (make_two_outputs(tmp_path, name) for name in ("old", "new"))
    assert run_snapshot(spark, before.snapshot(), 1, progress=quiet).status == "succeeded"
    path, digest = write_snapshot(after, tmp_path)
    arguments = ("--snapshot", path, "--sha256", digest, "--attempt", 2, "--report", tmp_path / "report.json")
    killed = run_job(step, number, *arguments, command=(sys.executable, "-m", "tests.spark_jobs.killed_driver"))
    assert killed.returncode == -9, killed.stderr[-2000:]
    assert not (tmp_path / "report.json").exists()
    shown = {table: read_names(spark, tmp_path / table) for table in ("fx", "fy")}
    assert shown == {table: ["NEW" if table in published else "OLD"] for table in ("fx", "fy")}
    report = run_snapshot(spark, parse_snapshot(path.read_bytes(), digest), 3, progress=quiet)
    assert report.status == "succeeded"
    assert [read_names(spark, tmp_path / table) for table in ("fx", "fy")] == [["NEW"], ["NEW"]]
    visible = sorted(file.parent.parent.name for file in tmp_path.rglob("*.parquet"))
    assert visible == ["fx", "fy"]


@pytest.fixture
def application(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The application inside this process, on the Spark of all tests."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(run_project, "_start_session", lambda _: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("application")
def test_driver_whose_submitter_was_killed_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody would stop it when its attempt is revoked, as by the lock of its period."""
    with subprocess.Popen(["sleep", "600"]) as submitter:
        monkeypatch.setenv(SUBMITTER_VARIABLE, describe_process(submitter.pid) or "")
        submitter.kill()
    snapshot, digest = write_snapshot(make_plan(tmp_path / "fx", ("1", "a")), tmp_path)
    arguments = ["--snapshot", str(snapshot), "--sha256", digest, "--attempt"]
    assert run_project.main([*arguments, "1"]) == 12
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["hint"]) == ("INFRA_001", "run it again")
    assert f"the process {submitter.pid} that submitted this job has ended" in error["message"]
    assert list(tmp_path.rglob("*.parquet")) == []
    monkeypatch.delenv(SUBMITTER_VARIABLE)
    assert run_project.main([*arguments, "2"]) == 0
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def make_two_outputs(folder: Path, name: str) -> PlanBuilder:
    plan = make_plan(folder / "fx", ("1", name))
    plan.output("id", "name")
    plan.operations[-1]["destination"] |= {"uri": f"file://{folder}/fy", "display": "lake/fy"}
    return plan

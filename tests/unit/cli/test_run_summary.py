"""The summary of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_runtime.cli.local_run import RunResult
from airflow_provider_runtime.cli.run_summary import print_ends, print_result, print_slowest
from airflow_provider_runtime.core.errors import Problem
from tests.unit.core.planning.resolve_builder import MONTHLY, resolve, write_project, write_resolver


def operation(seq: int, seconds: float, computed_with: int | None) -> dict[str, object]:
    return {"seq": seq, "name": f"step {seq}", "seconds": seconds, "computed_with": computed_with}


def test_five_most_expensive_steps_name_what_they_computed_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    operations = [operation(10, 0.0, 30), operation(20, 0.2, 30), operation(30, 4.0, 30), operation(40, 0.1, 40)]
    timings = {"load_seconds": 1.5, "check_seconds": 0.0, "unread_seconds": 0.3, "publish_seconds": 0.4, "total": 9.0}
    print_slowest(operations, timings)
    assert capsys.readouterr().out.splitlines() == [
        "",
        "most expensive steps            seconds  computed on the way",
        "operation 30 step 30            4.0      10, 20",
        "opening the sources             1.5",
        "publishing                      0.4",
        "computing what no output reads  0.3",
        "operation 20 step 20            0.2",
    ]


def test_summary_names_the_versions_of_tables_that_were_read_and_committed(capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = resolve(write_resolver(MONTHLY), write_project())
    pins = replace(snapshot.resolver_snapshot, table_version="8815")
    kept = {"registered_dataset": None, "registered_version": None}
    outputs = [
        {"seq": 20, "destination": "results/balances", "rows": 4, "table_version": "7", **kept},
        {"seq": 30, "destination": "lake/out", "rows": 4, **kept},
    ]
    report = {"run_id": "r", "status": "succeeded", "timings": {}, "outputs": outputs}
    report |= {key: [] for key in ("operations", "checks", "differences")}
    print_result(RunResult("2026-01", report, snapshot=replace(snapshot, resolver_snapshot=pins)), None)
    told = capsys.readouterr().out
    assert ", table version 8815" in told
    assert "results/balances, version 7  4" in told
    assert "lake/out                     4" in told


def test_several_runs_end_with_a_table_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    report = {"status": "succeeded", "outputs": [{"rows": 6}, {"rows": 3}], "timings": {"total_seconds": 1.5}}
    good = RunResult("2026-01", report)
    missing = Problem("DATA_001", "no data at 2026-02.csv")
    bad = RunResult("2026-02", {"status": "failed", "outputs": [], "timings": {}}, problems=(missing,))

    print_ends([good])
    assert capsys.readouterr().out == ""

    print_ends([good, bad])
    told = capsys.readouterr().out.splitlines()
    assert [line.split() for line in told[2:4]] == [
        ["2026-01", "succeeded", "9", "1.5"],
        ["2026-02", "failed", "DATA_001", "no", "data", "at", "2026-02.csv"],
    ]
    assert told[-1] == "1 of 2 succeeded, 1 failed"

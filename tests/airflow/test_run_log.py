"""The log of a run's task: the cause of a failure first, a success on one screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_runtime.operators.run_project import RunProjectOperator
from airflow_provider_runtime.timetables.assets import make_asset
from tests.airflow.tasks import FakeSpark, FakeTask
from tests.airflow.test_tasks import DATA_ERROR, resolve, run

pytestmark = pytest.mark.airflow


class Recorder:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, level: int, text: str, *values: object) -> None:
        del level
        self.lines.append(text % values if values else text)

    def info(self, text: str, *values: object) -> None:
        self.log(20, text, *values)

    warning = error = exception = info

    def list_unfolded(self) -> list[str]:
        """Return the lines that are seen before anything is opened."""
        seen, inside = [], False
        for line in self.lines:
            if "outside of the Task Runner" in line:
                continue
            if line.startswith("::group::"):
                seen.append(line)
                inside = True
            elif line == "::endgroup::":
                inside = False
            elif not inside:
                seen.append(line)
        return seen


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(RunProjectOperator, "log", found)
    return found


def test_failed_run_shows_its_cause_before_what_spark_printed(
    home: Path, spark: FakeSpark, log: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SUBMIT_ERROR", json.dumps(DATA_ERROR))
    monkeypatch.setenv("FAKE_SUBMIT_SAYS", "java.lang.IllegalStateException\n\tat org.apache.spark.Driver.main(D.java)")
    task = FakeTask()
    pins = resolve(task)

    with pytest.raises(AirflowFailException):
        run(task, pins)

    seen = log.list_unfolded()
    assert seen[0].startswith("::group::Spark job, attempt ")
    assert seen[1].splitlines()[:3] == [
        "DATA_003 12 does not fit",
        "  --> fx.yaml:7:1 (fx-close)",
        "  hint: widen the type",
    ]
    assert seen[2].startswith("::group::What Spark printed")
    assert any("org.apache.spark.Driver.main" in line for line in log.lines[log.lines.index(seen[2]) :])


def test_log_of_a_success_is_one_screen_and_ends_with_the_version(home: Path, spark: FakeSpark, log: Recorder) -> None:
    task = FakeTask()
    report: Any = run(task, resolve(task), outlets=[make_asset("Monthly Close")])

    seen = log.list_unfolded()
    assert report["status"] == "succeeded"
    assert len(seen) <= 40
    assert sum("ledger_usd" in line for line in seen) == 1
    assert any(line.startswith("input: ") and " version " in line for line in seen)
    assert any(line.startswith("join fx of operation ") for line in seen)
    assert seen[-1] == "registered Monthly Close version 1"


def test_log_shows_the_matches_of_joins(
    home: Path, spark: FakeSpark, log: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = [{"alias": "fx", "matched": 2, "unmatched": 1}]
    done = {"seq": 10, "type": "update", "name": "Convert", "rows_affected": 3, "rows_after": 4, "joins": joins}
    monkeypatch.setenv("FAKE_SUBMIT_OPERATIONS", json.dumps([done]))
    task = FakeTask()
    run(task, resolve(task))

    told = "operation 10 update 'Convert': 3 rows; join 'fx': 2 with a match, 1 without"
    assert told in log.list_unfolded()


def test_place_that_a_report_names_makes_no_second_line_of_the_log(
    home: Path, spark: FakeSpark, log: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = "a\nb\x1b[31m\u202e"
    monkeypatch.setattr(
        "airflow_provider_runtime.operators.run_log.list_pins",
        lambda _: [{"used_by": "input", "dataset": destination, "version": 1, "resolver": "lake version 1"}],
    )
    task = FakeTask()
    run(task, resolve(task))

    assert all(line.isprintable() for line in log.lines)

"""The summary of a run."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.cli.run_summary import print_slowest


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

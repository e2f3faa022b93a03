"""The demo's patience with an Airflow on a busy machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import demo_airflow
from demo import CLOSE, MONTHS, REVIEW, watch


class BusyAirflow(demo_airflow.DemoAirflow):
    """Answers every second request in time."""

    requests = 0

    def _send(self, method: str, path: str, body: object = None) -> Any:
        self.requests += 1
        if self.requests % 2:
            raise TimeoutError("timed out")
        if method == "POST":
            return {"access_token": "t"}
        return {"dag_runs": [{"partition_key": month, "state": "success"} for month in MONTHS]}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


def test_demo_asks_again_when_one_request_is_not_answered_in_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow = BusyAirflow(tmp_path, 1)
    watch(airflow, time.monotonic())
    told = capsys.readouterr().out
    assert all(f"{dag} {month}: success" in told for dag in (CLOSE, REVIEW) for month in MONTHS)
    assert airflow.requests > 4


def test_demo_whose_airflow_never_answers_ends_with_one_line(tmp_path: Path) -> None:
    airflow = BusyAirflow(tmp_path, 1)
    with pytest.raises(SystemExit, match=r"^Airflow does not answer any more; see .*airflow\.log$"):
        airflow.poll("/dags", time.monotonic() - 1)
    with pytest.raises(SystemExit, match=r"POST /backfills: Airflow did not answer \(timed out\)"):
        airflow.change("POST", "/backfills", {})

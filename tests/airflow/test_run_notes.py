"""The notes of DAG runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_runtime.plugins import run_notes
from airflow_provider_runtime.plugins.run_notes import add_line, describe, write_note

pytestmark = pytest.mark.airflow


def answer(period: str, rows: tuple[int, ...], status: str = "succeeded", version: int | None = None) -> dict[str, Any]:
    unregistered = {"registered_dataset": None, "registered_version": None}
    outputs: list[dict[str, Any]] = [{"seq": seq, "rows": count, **unregistered} for seq, count in enumerate(rows)]
    if version is not None:
        outputs[-1] |= {"registered_dataset": "Monthly Close", "registered_version": version}
    return {"run_id": f"r-{period}", "status": status, "period": period, "outputs": outputs}


@pytest.mark.parametrize(
    ("results", "failed", "line"),
    [
        ([answer("2026-05", (6, 5, 3), version=3)], [], "2026-05: 14 rows, 3 outputs, Monthly Close v3"),
        ([answer("2026-05", (1,))], [], "2026-05: 1 row, 1 output"),
        ([answer("2026-05", (12_345,), "staged")], [], "2026-05: staged, 12,345 rows, 1 output"),
        (
            [answer("2026-04", (2,)), answer("2026-05", (3,))],
            [],
            "2026-04: 2 rows, 1 output; 2026-05: 3 rows, 1 output",
        ),
        ([], ["run"], "2026-05: failed in run"),
        ([], [], None),
    ],
)
def test_note_shows_period_and_result(results: list[dict[str, Any]], failed: list[str], line: str | None) -> None:
    assert describe("2026-05", results, failed) == line


def test_note_of_a_person_is_kept_and_the_line_of_an_earlier_end_is_replaced() -> None:
    first = add_line("late file of May", "2026-05: failed in run")
    assert first == "2026-05: failed in run\nlate file of May"
    assert add_line(first, "2026-05: 14 rows, 3 outputs") == "2026-05: 14 rows, 3 outputs\nlate file of May"


def test_fault_while_noting_leaves_the_scheduler_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the database is away")

    monkeypatch.setattr(run_notes, "_describe", fail)
    monkeypatch.setattr("sqlalchemy.orm.object_session", lambda _: object())
    run: Any = SimpleNamespace(run_id="r", dag_id="d", note=None)

    write_note(run)

    assert run.note is None

"""What is known from a selector alone of where its rows come from."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.snapshot.compile import compile_operations
from tests.unit.core.planning.project_builder import aggregate, append, check_operations, delete, output, update

NOW = datetime(2026, 2, 1, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")


@pytest.mark.parametrize(
    ("selector", "origins", "is_whole"),
    [
        ("_operation_seq = 0", (0,), True),
        ("0 = _operation_seq", (0,), True),
        ("_operation_seq > 0", (20, 30), True),
        ("_operation_seq <> 20 AND _deleted = FALSE", (0, 30), False),
        ("NOT (_operation_seq IN (0, 20))", (30,), True),
        ("_operation_seq BETWEEN 10 AND 20 AND amount > 0", (20,), False),
        ("_operation_seq = 0 OR _operation_seq = 30", (0, 30), True),
        ("_operation_seq > 90", (), True),
        ("_operation_seq = 40", (), True),
        ("1 / _operation_seq > 1", (), True),
        ("_operation_seq = 0 OR amount > 0", None, False),
        ("amount > 0", None, False),
        ("TRUE", (0, 20, 30), True),
        ("FALSE AND amount > 0", (), True),
        ("NULL", (), True),
    ],
)
def test_selector_determines_origins(selector: str, origins: tuple[int, ...] | None, is_whole: bool) -> None:
    checked = check_operations(
        update("amount", seq=10),
        aggregate("SUM(amount)", "amount", group_by="[region]", seq=20),
        append("budget", seq=30),
        delete(f"'{selector}'", seq=40),
        append("budget", seq=50),
        output(seq=60),
    )
    assert checked.problems == ()
    compiled = compile_operations(checked.project, run=RUN)
    chosen = compiled.operations[3]
    assert (chosen.origins, chosen.picks_by_origin) == (origins, is_whole)
    assert compiled.operations[5].origins is None


def test_source_dataset_determines_origins_too() -> None:
    selector = "'_source_dataset = \"budget\" AND _operation_seq < 50'"
    checked = check_operations(append("budget", seq=30), delete(selector, seq=40), output(seq=60))
    assert checked.problems == ()
    compiled = compile_operations(checked.project, run=RUN)
    assert (compiled.operations[1].origins, compiled.operations[1].picks_by_origin) == ((30,), True)

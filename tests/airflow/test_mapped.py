"""The example of mapped tasks: what each of them gets, and what a callback gets."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.definitions.mappedoperator import MappedOperator

from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeSpark, FakeTask

pytestmark = pytest.mark.airflow
EXAMPLE = Path(__file__).resolve().parents[2] / "dags_examples" / "mapped.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("mapped_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unmap(operator: MappedOperator, **values: Any) -> Any:
    return operator.unmap({**operator.partial_kwargs, **values})


def test_each_mapped_pair_of_tasks_runs_its_own_period(home: Path, spark: FakeSpark, example: Any) -> None:
    for period in ("2026-01", "2026-02"):
        task = FakeTask(partition_key=None)
        resolve = unmap(example.resolve, period=period)
        assert isinstance(resolve, ResolveOperator)
        pins = resolve.execute(task.context("resolve"))
        run = unmap(example.run, snapshot=pins)
        assert isinstance(run, RunProjectOperator)
        assert run.execute(task.context())["period"] == period


def test_callback_gets_the_fields_of_the_error(home: Path, example: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match="PERIOD_001") as raised:
        unmap(example.resolve, period="2026-13").execute(FakeTask().context("resolve"))

    (problem,) = raised.value.problems  # type: ignore[attr-defined]
    assert problem["code"] == "PERIOD_001"
    assert problem["file"].endswith(".yaml")
    assert problem["hint"]
    with caplog.at_level(logging.ERROR):
        example.tell_failure({"exception": raised.value})
    assert f"PERIOD_001 in {problem['file']}, line {problem['line']}: " in caplog.text
    example.tell_failure({"exception": ValueError("of somebody else")})

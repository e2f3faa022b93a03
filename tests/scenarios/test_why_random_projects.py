"""Random projects: the steps that `why` shows for each row make up the row that is published."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.evidence.why import Question, make_request
from airflow_provider_runtime.scenarios.loading import load_scenario_catalog
from airflow_provider_runtime.scenarios.runner import ScenarioRunner, make_snapshot
from spark_jobs.contract.operations import AggregateOperation
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.why import History, RowHistory
from spark_jobs.errors import JobError
from spark_jobs.rows.executor import execute, refuse_credentials
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.why import replay_rows
from tests.scenarios.test_random_projects import load_random_project

SEEDS_IN_TEST = 4
SEEDS_IN_CHAOS = 300
pytestmark = pytest.mark.spark


def fold(row: RowHistory, before: int) -> dict[str, str | None]:
    """Return the values that the steps before an operation leave."""
    steps = [step for step in row.steps if step.seq < before]
    return {change.column: change.after for step in steps for change in step.changes}


def check_outputs(snapshot: Snapshot, sinks: MemorySinks, history: History, but: int = 0) -> None:
    """The history has every row of every output, made up by its steps; `but` is an output that drops equal rows."""
    for output in (output for output in snapshot.plan.outputs if output.seq != but):
        proofs = [(row, proof) for row in history.rows for proof in row.outputs if proof.seq == output.seq]
        selected = [(row, proof) for row, proof in proofs if proof.selected]
        assert len(selected) == len(sinks.tables[output.seq].rows)
        for row, proof in selected:
            assert (proof.published, proof.equal, proof.differences) == (True, True, ()), (output.seq, row)
            folded = fold(row, output.seq)
            values = {name: value for name, value in (proof.values or {}).items() if folded.get(name) != value}
            assert values == {}, (output.seq, row)


def check_groups(snapshot: Snapshot, history: History) -> None:
    """Rows that went into a group are as many as the group says, and their summary row says the same."""
    for operation in snapshot.plan.operations:
        if not isinstance(operation, AggregateOperation):
            continue
        counted: dict[tuple[tuple[str, str | None], ...], int] = {}
        in_steps: dict[tuple[tuple[str, str | None], ...], set[int]] = {}
        for row in history.rows:
            for step in row.steps:
                if step.seq == operation.seq and step.group is not None:
                    key = tuple(step.group.key.items())
                    in_steps.setdefault(key, set()).add(step.group.rows)
                    counted[key] = counted.get(key, 0) + (row.origin.operation_seq != operation.seq)
        assert {key: {count} for key, count in counted.items()} == in_steps


def check_seed(seed: int, spark: SparkSession, folder: Path) -> bool:
    """Ask for every row of a project; False for one that does not run."""
    loaded = load_random_project(seed, folder)
    assert loaded.scenario is not None
    sinks = MemorySinks()
    try:
        snapshot = make_snapshot(loaded, loaded.scenario, load_scenario_catalog(loaded))
        execute(spark, snapshot, sinks)
    except (JobError, RuntimeProviderError):
        return False
    request = make_request(snapshot, Question("TRUE", limit=10_000))
    history = replay_rows(spark, snapshot, request, refuse_credentials, sinks.read_staged, lambda _: ())
    check_outputs(snapshot, sinks, history)
    check_groups(snapshot, history)
    return True


@pytest.mark.parametrize("first", range(0, SEEDS_IN_TEST, 4))
def test_steps_make_up_every_published_row(
    first: int, scenario_runner: ScenarioRunner, spark: SparkSession, tmp_path: Path
) -> None:
    assert sum(check_seed(seed, spark, tmp_path) for seed in range(first, first + 4)) >= 2


@pytest.mark.chaos
@pytest.mark.parametrize("first", range(5000, 5000 + SEEDS_IN_CHAOS, 25))
def test_steps_make_up_every_published_row_of_many_projects(
    first: int, scenario_runner: ScenarioRunner, spark: SparkSession, tmp_path: Path
) -> None:
    assert sum(check_seed(seed, spark, tmp_path) for seed in range(first, first + 25)) >= 15

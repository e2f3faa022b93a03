"""`why` reads what it is asked for: its conditions reach the files, as far as no operation changes their columns."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.catalog.loader import load_catalog
from airflow_provider_runtime.core.evidence.why import Question, make_request
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.rows.executor import execute, refuse_credentials
from spark_jobs.rows.replay import Replay
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.why import replay_rows
from tests.datasets import MONEY, define_dataset

pytestmark = pytest.mark.spark
CATALOG = """
datasource: {id: lake, type: parquet, path_prefix: ../data}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{name: all, data_level: any, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}]
---
project:
  id: close
  name: close
  version: 1
  input_dataset_id: ledger
  operations:
    - seq: 10
      name: Upper
      type: update
      arguments: {assignments: [{column: currency, expression: UPPER(currency)}]}
    - seq: 20
      name: By currency
      type: aggregate
      arguments: {group_by: [currency], aggregations: [{column: total, expression: SUM(amount)}]}
    - {seq: 30, name: Lines, type: output, arguments: {destination: {datasource_id: lake, path: lines}}}
"""


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, MemorySinks]:
    folder = tmp_path_factory.mktemp("restriction")
    values = ", ".join(f"('J{n}', '{'eur' if n % 2 else 'USD'}', {n}.00BD, '2026-01')" for n in range(20))
    rows = spark.sql(f"SELECT * FROM VALUES {values} AS t(journal, currency, amount, _period)")
    rows.withColumn("amount", rows.amount.cast("decimal(18,2)")).write.parquet(f"{folder}/data/ledger")
    (folder / "catalog").mkdir()
    ledger = define_dataset("ledger", journal="string", currency="string", amount=MONEY)
    (folder / "catalog" / "close.yaml").write_text(f"{CATALOG}---{ledger}")
    snapshot = build_snapshot(load_catalog(folder / "catalog"), "close", "2026-01")
    sinks = MemorySinks()
    execute(spark, snapshot, sinks)
    return snapshot, sinks


def explain(spark: SparkSession, run: tuple[Snapshot, MemorySinks], question: Question) -> tuple[int, list[str]]:
    """Return how many rows were explained, and Spark's plans of what was read for them."""
    snapshot, sinks = run
    status: Any = spark._jsparkSession.sharedState().statusStore()  # type: ignore[attr-defined]
    before = {execution.executionId() for execution in read_executions(status)}
    request = make_request(snapshot, question)
    history = replay_rows(spark, snapshot, request, refuse_credentials, sinks.read_staged, lambda _: ())
    spark._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[attr-defined]
    made = [execution for execution in read_executions(status) if execution.executionId() not in before]
    plans = [execution.physicalPlanDescription() for execution in made]
    return len(history.rows), [plan for plan in plans if "Scan parquet" in plan]


def read_executions(status: Any) -> list[Any]:
    """Return what Spark knows of its last actions; it forgets the oldest beyond a thousand."""
    executions = status.executionsList()
    return [executions.apply(index) for index in range(executions.size())]


@pytest.mark.parametrize(
    ("question", "pushed"),
    [
        (Question('journal = "J7"'), "EqualTo(journal,J7)"),
        (Question("amount > 17 AND LEN(journal) = 3"), "GreaterThan(amount,17.00)"),
        (Question('_operation_seq = 0 AND journal = "J7"'), "EqualTo(journal,J7)"),
    ],
)
def test_condition_on_a_column_that_nobody_changes_reaches_the_files(
    spark: SparkSession, run: tuple[Snapshot, MemorySinks], question: Question, pushed: str
) -> None:
    rows, plans = explain(spark, run, question)
    assert rows > 0
    filters = [line for plan in plans for line in plan.splitlines() if "PushedFilters" in line]
    assert any(pushed in line for line in filters), filters


def test_groups_are_not_made_for_rows_that_cannot_be_among_them(
    spark: SparkSession, run: tuple[Snapshot, MemorySinks], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = Replay._make_rows
    monkeypatch.setattr(
        Replay,
        "_make_rows",
        lambda replay, walk, working, op: (made.append(op.seq), make(replay, walk, working, op))[1],
    )
    assert explain(spark, run, Question('journal = "J7"'))[0] == 1
    assert explain(spark, run, Question('_operation_seq = 0 AND currency = "EUR"', limit=1))[0] == 1
    assert made == []
    assert explain(spark, run, Question("journal IS NULL"))[0] == 2
    assert made == [20]


def test_condition_on_a_column_that_is_changed_finds_its_rows(
    spark: SparkSession, run: tuple[Snapshot, MemorySinks]
) -> None:
    rows, plans = explain(spark, run, Question('_operation_seq = 0 AND currency = "EUR"', limit=20))
    assert rows == 10
    assert plans

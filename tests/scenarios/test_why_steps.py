"""`why` of operations that random projects do not have: its steps make up the published rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.catalog.yaml_source import parse_text
from airflow_provider_runtime.core.evidence.why import Question, make_request
from airflow_provider_runtime.scenarios.loading import load_scenario_catalog, read_document
from airflow_provider_runtime.scenarios.runner import ScenarioRunner, make_snapshot
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.why import History
from spark_jobs.rows.executor import execute, refuse_credentials
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.why import replay_rows
from tests.scenarios.test_why_random_projects import check_outputs

pytestmark = pytest.mark.spark
SCENARIO = """
scenario: why
run: {project: p, period: 2026-01}
expect: {outputs: [{operation: 90, row_count: 18}]}
datasets:
  - id: sales
    name: Sales
    version: 1
    main_table:
      name: sales
      temporal_mode: period
      columns: [{name: shop, type: string}, {name: amount, type: decimal, precision: 18, scale: 2},
                {name: booked, type: date}, {name: at, type: timestamp}, {name: lines, type: integer}]
  - id: rates
    name: Rates
    version: 1
    main_table:
      name: rates
      temporal_mode: bitemporal
      columns: [{name: shop, type: string}, {name: rate, type: decimal, precision: 18, scale: 6}]
  - id: more
    name: More
    version: 1
    main_table:
      name: more
      columns: [{name: shop, type: string}, {name: amount, type: decimal, precision: 18, scale: 2}]
data:
  - dataset: sales
    rows:
      - {_row_id: 01948a00-0000-7000-8000-00000000000a, shop: a, amount: "10.00", booked: 2026-01-05,
         at: "2026-01-05T10:00:00.5Z", lines: 3, _deleted: false, _period: 2026-01}
      - {_row_id: null, shop: a, amount: "20.00", booked: 2026-01-04, _deleted: false, _period: 2026-01}
      - {_row_id: null, shop: null, amount: "5.00", booked: 2026-01-03, _deleted: false, _period: 2026-01}
      - {_row_id: null, shop: b, amount: null, booked: null, _deleted: true, _period: 2026-01}
      - {_row_id: null, shop: b, amount: "-1.00", booked: 2026-01-02, _deleted: false, _period: 2026-01}
      - {_row_id: null, shop: b, amount: "-1.00", booked: 2026-01-02, _deleted: false, _period: 2026-01}
  - dataset: rates
    rows:
      - {shop: a, rate: "1.5", _period_from: 2025-01-01, _period_to: 2026-01-05}
      - {shop: a, rate: "2.5", _period_from: 2026-01-05, _period_to: null}
  - {dataset: more, rows: [{shop: a, amount: "1.00"}, {shop: a, amount: "1.00"}, {shop: c, amount: "2.00"}]}
projects:
  - id: p
    name: p
    version: 1
    input_dataset_id: sales
    operations:
      - {seq: 1, name: rate, type: update, arguments: {
          joins: [{alias: fx, dataset_id: rates, on: sales.shop = fx.shop, as_of: booked, default: {rate: "1.0"}}],
          assignments: [{column: worth, expression: "ROUND(amount * fx.rate, 2)"}]}}
      - {seq: 2, name: groups, type: update, selector: amount > 0, arguments: {assignments: [
          {column: place, expression: RANK(amount DESC BY shop)},
          {column: sofar, expression: RUNNING(worth ORDER booked)},
          {column: part, expression: "ALLOCATE(100.00, amount)"}]}}
      - {seq: 3, name: more, type: append, arguments: {source: {dataset_id: more}, distinct: true}}
      - {seq: 4, name: summed, type: append, arguments: {source: {dataset_id: more}, aggregation: {
          group_by: [shop], aggregations: [{column: amount, expression: SUM(amount)}]}}}
      - {seq: 5, name: share, type: update, selector: amount IS NOT NULL, arguments: {assignments: [
          {column: share, expression: SHARE(amount BY shop)}]}}
      - {seq: 6, name: drop, type: delete, selector: amount < 0}
      - {seq: 7, name: by shop, type: aggregate, from: all, arguments: {group_by: [shop], aggregations: [
          {column: total, expression: SUM(amount)}, {column: mean, expression: AVG(worth)}]}}
      - {seq: 8, name: of all, type: aggregate, from: [7], arguments: {group_by: [], aggregations: [
          {column: total, expression: SUM(total)}]}}
      - {seq: 20, name: pairs, type: append, from: loaded, arguments: {source: {dataset_id: more}, expand: {
          alias: m, on: m.shop = sales.shop, columns: [
            {column: shop, expression: sales.shop}, {column: amount, expression: m.amount * sales.amount}]}}}
      - {seq: 90, name: all, type: output, arguments: {include_deleted: true,
          destination: {type: parquet, path: all}}}
      - {seq: 100, name: shops, type: output, arguments: {distinct: true, columns: [shop, amount],
          destination: {type: parquet, path: shops}}}
"""


Run = tuple[Snapshot, MemorySinks]


@pytest.fixture(scope="module")
def run(spark: SparkSession, scenario_runner: ScenarioRunner, tmp_path_factory: pytest.TempPathFactory) -> Run:
    parsed = parse_text(SCENARIO, "why.yaml")
    assert parsed.problems == []
    loaded = read_document(tmp_path_factory.mktemp("why") / "why.yaml", parsed.documents[0])
    assert loaded.scenario is not None, loaded.problems
    snapshot, sinks = make_snapshot(loaded, loaded.scenario, load_scenario_catalog(loaded)), MemorySinks()
    execute(spark, snapshot, sinks)
    return snapshot, sinks


def explain(spark: SparkSession, run: Run, question: Question) -> History:
    snapshot, sinks = run
    request = make_request(snapshot, question)
    return replay_rows(spark, snapshot, request, refuse_credentials, sinks.read_staged, lambda _: ())


def test_groups_distinct_defaults_days_and_kept_ids_make_up_the_published_rows(run: Run, spark: SparkSession) -> None:
    history = explain(spark, run, Question("TRUE", limit=100))
    rows = {row.row_id: row for row in history.rows}
    assert len(rows) == 6 + 2 + 2 + 3 + 1 + 4
    everything, shops = ([row.outputs[index] for row in history.rows] for index in (0, 1))
    assert {(proof.selected, proof.published, proof.equal) for proof in everything} == {(True, True, True)}
    assert {(proof.published, proof.equal) for proof in shops if proof.selected} == {(True, True)}
    kept = rows["01948a00-0000-7000-8000-00000000000a"]
    (join,) = kept.steps[1].joins
    assert join.match == {"shop": "a", "rate": "2.500000", "_period_from": "2026-01-05", "_period_to": None}
    after = {change.column: change.after for step in kept.steps for change in step.changes}
    assert (after["worth"], after["place"], after["at"]) == ("25.00", "2", "2026-01-05T10:00:00.500000Z")
    summed = [row for row in history.rows if row.origin.operation_seq == 4]
    assert sorted(
        (row.steps[0].group.key["shop"], row.steps[0].group.rows) for row in summed if row.steps[0].group
    ) == [
        ("a", 2),
        ("c", 1),
    ]
    pairs = [row for row in history.rows if row.origin.operation_seq == 20]
    assert {(row.origin.dataset_id, row.origin.file, row.steps[0].group) for row in pairs} == {("more", None, None)}
    (total,) = [row for row in history.rows if row.origin.operation_seq == 8]
    assert total.steps[0].group is not None
    assert (total.steps[0].group.key, total.steps[0].group.rows) == ({}, 3)
    check_outputs(*run, history, but=100)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        (Question("place = 2"), 1),
        (Question("_operation_seq = 7 AND shop IS NULL"), 1),
        (Question('total > 0 AND shop = "a"'), 1),
        (Question("amount = 1", output=100), 1),
        (Question("_deleted", output=100), 0),
        (Question(row_id="01948A00-0000-7000-8000-00000000000A"), 1),
    ],
)
def test_conditions_on_made_and_changed_columns_find_their_rows(
    question: Question, rows: int, run: Run, spark: SparkSession
) -> None:
    history = explain(spark, run, question)
    assert len(history.rows) == rows
    assert all(proof.equal for row in history.rows for proof in row.outputs if proof.selected)

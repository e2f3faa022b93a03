"""`why` on runs: loaded, aggregated, appended, deleted and unselected rows, staged, replaced and changed ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.cli.why import ask
from airflow_provider_runtime.core.errors import DataError, PlanError
from airflow_provider_runtime.core.evidence.row_story import write_history
from airflow_provider_runtime.core.evidence.why import Question
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.runs.published import find_reported_run
from spark_jobs.contract.why import History, RowHistory, Step
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update

pytestmark = [pytest.mark.spark, pytest.mark.integration]
PERIOD = "2026-01"
RATES = """
dataset:
  id: rates
  name: Rates
  version: 1
  main_table:
    name: rates
    columns: [{name: shop, type: string}, {name: rate, type: decimal, precision: 18, scale: 2}]
"""


def make_operations() -> list[dict[str, object]]:
    rates = {"alias": "fx", "dataset_id": "rates", "on": "sales.shop = fx.shop"}
    return [
        make_update(10, [rates], converted="amount * fx.rate", region="IF(amount = 7, NULL, shop)"),
        {"seq": 20, "name": "drop", "type": "delete", "selector": "amount < 0"},
        {
            "seq": 30,
            "name": "by shop",
            "type": "aggregate",
            "arguments": {
                "group_by": ["region"],
                "aggregations": [{"column": "total", "expression": "SUM(converted + 0)"}],
            },
        },
        {
            "seq": 40,
            "name": "more",
            "type": "append",
            "arguments": {"source": {"dataset_id": "rates"}, "add_columns": True},
        },
        make_update(50, shares="SHARE(amount BY shop)") | {"selector": "_operation_seq = 0"},
        make_output(60, "lines", columns=["shop", "amount", "converted", "shares"]) | {"selector": "amount > 5"},
        make_output(70, "totals", columns=["region", "total"], key=["region"], register_as_dataset="Totals")
        | {"selector": "_operation_seq = 30"},
    ]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Workplace:
    folder = tmp_path_factory.mktemp("why")
    url = f"sqlite:///{folder}/registry.db"
    made = Workplace(folder, open_registry(url), spark, url)
    made.write_catalog("project.yaml", [make_project("close", make_operations()), RATES])
    for name, rows in (
        ("sales", "north,10.00\nsouth,4.00\neast,-3.00\nnorth,6.00\nnull,7.00\n"),
        ("rates", "north,2.50\n"),
    ):
        path = folder / "data" / name / f"{PERIOD}.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"shop,{'amount' if name == 'sales' else 'rate'}\n{rows}", encoding="utf-8")
    made.run("close", PERIOD)
    return made


def why(books: Workplace, run_id: str | None = None, **question: object) -> History:
    found = find_reported_run(books.registry, "close", PERIOD, run_id)
    runner = LocalRunner(books.registry, lambda: books.spark, books.said.append)
    return ask(runner, found, RunSnapshots().read(found.record), Question(**question))  # type: ignore[arg-type]


def get_step(row: RowHistory, seq: int) -> Step:
    return next(step for step in row.steps if step.seq == seq)


def list_proofs(row: RowHistory) -> list[tuple[int, bool, bool, bool | None]]:
    return [(proof.seq, proof.selected, proof.published, proof.equal) for proof in row.outputs]


def test_loaded_row_is_followed_from_its_file_to_its_outputs(books: Workplace) -> None:
    history = why(books, where='shop = "north" AND amount = 10')
    (row,) = history.rows
    assert row.origin.file == f"{books.folder}/data/sales/{PERIOD}.csv"
    assert get_step(row, 0).line > 1
    update = get_step(row, 10)
    assert [(join.alias, join.match) for join in update.joins] == [("fx", {"shop": "north", "rate": "2.50"})]
    changes = {change.column: (change.before, change.after, change.expression) for change in update.changes}
    assert changes["converted"] == (None, "25.0000", "amount * fx.rate")
    assert update.file is not None
    assert not get_step(row, 20).touched
    group = get_step(row, 30).group
    assert group is not None
    assert (group.key, group.rows) == ({"region": "north"}, 2)
    assert [(found.row_id == row.row_id, found.value) for found in group.contributions] == [
        (True, "25.0000"),
        (False, "15.0000"),
    ]
    assert {c.column: c.after for c in get_step(row, 50).changes}["shares"] == "0.625000"
    assert list_proofs(row) == [(60, True, True, True), (70, False, False, None)]
    assert history.changed_sources == ()


def test_aggregated_row_has_its_group_and_is_found_by_its_id(books: Workplace) -> None:
    by_where = why(books, where='_operation_seq = 30 AND region = "north"')
    assert by_where.rows == why(books, row_id=by_where.rows[0].row_id.upper()).rows
    (row,) = by_where.rows
    assert row.origin.operation_seq == 30
    step = row.steps[0]
    assert (step.seq, step.type) == (30, "aggregate")
    assert step.group is not None
    assert (step.group.rows, [found.value for found in step.group.contributions]) == (2, ["25.0000", "15.0000"])
    assert list_proofs(row) == [(60, False, False, None), (70, True, True, True)]


def test_group_of_a_null_key_is_found(books: Workplace) -> None:
    (row,) = why(books, output=70, where="region IS NULL").rows
    assert row.steps[0].group is not None
    assert (row.steps[0].group.key, row.steps[0].group.rows) == ({"region": None}, 1)
    assert list_proofs(row) == [(70, True, True, True)]


def test_deleted_appended_and_unmatched_rows(books: Workplace) -> None:
    (deleted,) = why(books, where="amount < 0").rows
    assert get_step(deleted, 20).touched
    assert {c.column: c.after for c in get_step(deleted, 20).changes}["_deleted"] == "true"
    assert not get_step(deleted, 30).touched
    (appended,) = why(books, where="_operation_seq = 40").rows
    assert appended.origin.dataset_id == "rates"
    assert appended.origin.file == f"{books.folder}/data/rates/{PERIOD}.csv"
    (unmatched,) = why(books, where='shop = "south" AND _operation_seq = 0').rows
    assert [join.match for join in get_step(unmatched, 10).joins] == [None]


def test_story_reads_as_sentences(books: Workplace) -> None:
    found = find_reported_run(books.registry, "close", PERIOD)
    snapshot = RunSnapshots().read(found.record)
    history = why(books, where="amount < 0")
    story = write_history(snapshot, found, history)
    told = " ".join(story.split())
    assert "It was read from" in told
    assert "Operation 20, drop (project.yaml, line" in told
    assert "deleted it." in told
    assert "left it out: it is deleted." in told
    assert "The sources are as the run has read them." in told


def test_rows_that_are_not_there_are_an_error(books: Workplace) -> None:
    for question in ({"where": "amount = 99"}, {"row_id": "019c16c9-e400-7000-8000-000000000001"}, {"row_id": "x"}):
        with pytest.raises(DataError) as caught:
            why(books, **question)
        assert caught.value.code == "DATA_001"


def test_changed_files_staged_and_replaced_runs(books: Workplace) -> None:
    first = find_reported_run(books.registry, "close", PERIOD).record.run_id
    path = Path(f"{books.folder}/data/sales/{PERIOD}.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("10.00", "11.00"), encoding="utf-8")
    history = why(books, where='shop = "north" AND amount = 11')
    assert history.changed_sources == (str(path),)
    assert list_proofs(history.rows[0])[0] == (60, True, False, False)
    changed = why(books, where='_operation_seq = 30 AND region = "north"').rows[0].outputs[1]
    assert (changed.published, changed.equal) == (True, False)
    assert [(d.column, d.replayed, d.published) for d in changed.differences] == [("total", "42.5000", "40.0000")]

    snapshot = books.resolve("close", PERIOD)
    runner = LocalRunner(books.registry, lambda: books.spark, books.said.append, stage_only=True)
    from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot

    uri = write_snapshot(snapshot, str(books.folder / "snapshots"))
    assert runner.execute(snapshot, uri).succeeded
    staged = why(books, snapshot.run_id, where='_operation_seq = 30 AND region = "north"')
    assert list_proofs(staged.rows[0])[1] == (70, True, True, True)

    assert runner.publish(snapshot, uri).succeeded
    replaced = find_reported_run(books.registry, "close", PERIOD, first)
    assert replaced.replaced_by is not None
    assert replaced.replaced_by.run_id == snapshot.run_id
    with pytest.raises(PlanError, match="is one of close"):
        find_reported_run(books.registry, "close", "2026-02", first)
    with pytest.raises(PlanError, match="nothing is published of close, 2026-02"):
        find_reported_run(books.registry, "close", "2026-02")

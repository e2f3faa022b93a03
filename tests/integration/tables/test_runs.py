"""Whole runs that read from and write into Iceberg and Delta tables, on Spark without a jar of either."""

from __future__ import annotations

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.cli.local_run import LocalRunner
from airflow_provider_runtime.cli.why import ask
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.evidence.why import Question
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.runs.published import find_reported_run
from airflow_provider_runtime.core.runs.tables import TableCommits
from airflow_provider_runtime.core.tables import TableColumn
from spark_jobs.compare.outputs import CompareRequest
from spark_jobs.contract.comparison import Comparison, OutputComparison
from spark_jobs.contract.documents import read_document
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update
from tests.integration.tables.books import TABLE, Books, double_into
from tests.integration.tables.kit import LEDGER, lines

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_period_is_read_from_a_table_and_replaced_in_another_in_one_commit(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00", "2.00"))
    books.ledger.publish(lines("2026-02", "5.00"), period="2026-02")
    books.define(double_into(books.destination()))
    first = books.run("2026-01")
    books.run("2026-02")
    assert books.read_results() == [
        ("2026-01", "A0", "2.00"),
        ("2026-01", "A1", "4.00"),
        ("2026-02", "A0", "10.00"),
    ]
    version = first.report["outputs"][0]["table_version"]
    assert books.read_results(version) == [("2026-01", "A0", "2.00"), ("2026-01", "A1", "4.00")]

    books.ledger.publish(lines("2026-01", "3.00"), token=2)
    books.run("2026-01")
    assert books.read_results() == [("2026-01", "A0", "6.00"), ("2026-02", "A0", "10.00")]
    assert len(books.results.open().read_head().list_changes()) == 3  # type: ignore[attr-defined]


def test_snapshot_reads_its_version_after_the_table_was_replaced(books: Books) -> None:
    version = books.ledger.publish(lines("2026-01", "1.00", "2.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    assert snapshot.resolver_snapshot.table_version == version
    books.ledger.publish(lines("2026-01", "9.00"), token=2)
    assert books.place.execute(snapshot).succeeded
    expected = [("2026-01", "A0", "2.00"), ("2026-01", "A1", "4.00")]
    assert books.read_results() == expected
    books.run()
    assert books.read_results() == [("2026-01", "A0", "18.00")]
    assert books.place.execute(snapshot).succeeded
    assert books.read_results() == expected


def test_same_rows_again_make_no_version(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    first, second = books.place.execute(snapshot), books.place.execute(snapshot)
    versions = [result.report["outputs"][0]["table_version"] for result in (first, second)]
    assert versions[0] == versions[1] == books.results.open().find_state().version


def test_table_may_be_read_and_replaced_by_the_same_run(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    output = make_output(20, "", columns=["account", "amount", "_period"])
    output["arguments"]["destination"] = books.destination("ledger")
    books.define([make_update(10, amount="amount * 2"), output])
    snapshot = books.place.resolve("close", "2026-01")
    for _ in range(2):
        assert books.place.execute(snapshot).succeeded
        assert books.ledger.read() == lines("2026-01", "2.00")


def test_overwrite_replaces_the_whole_table(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.ledger.publish(lines("2026-02", "5.00"), period="2026-02")
    books.define(double_into(books.destination(), write_mode="overwrite"))
    books.run("2026-01")
    books.run("2026-02")
    assert books.read_results() == [("2026-02", "A0", "10.00")]


def test_days_in_a_month_are_replaced_each_in_its_own_partition(books: Books) -> None:
    books.place.write_catalog("project.yaml", [])
    for day, amount in (("2026-01-05", "1.00"), ("2026-01-06", "2.00")):
        books.ledger.publish(lines(day, amount), period=day)
    strategy = {"type": "table", "datasource_id": "tables", "table": TABLE[books.format].format("ledger")}
    rule = {"name": "days", "data_level": "day", "strategy": strategy}
    books.place.write_catalog("days.yaml", {"resolver": {"id": "days", "version": 1, "rules": [rule]}})
    books.define(double_into(books.destination()), resolver_overrides={"ledger": "days"})
    books.run("2026-01")
    assert books.read_results() == [("2026-01-05", "A0", "2.00"), ("2026-01-06", "A0", "4.00")]
    books.ledger.publish([], period="2026-01-06", token=2)
    books.run("2026-01")
    assert books.read_results() == [("2026-01-05", "A0", "2.00")]


def test_new_column_of_an_output_is_added_to_its_table(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.ledger.publish(lines("2026-02", "5.00"), period="2026-02")
    books.define(double_into(books.destination()))
    books.run("2026-01")
    operations = double_into(books.destination(), columns=["account", "doubled", "_period", "_row_id"])
    books.define(operations, version=2)
    books.run("2026-02")
    rows = {row["_period"]: row["_row_id"] is None for row in books.results.read()}
    assert rows == {"2026-01": True, "2026-02": False}


def test_columns_that_do_not_fit_are_reported_when_resolving(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    wrong = (TableColumn("account", "bigint"), TableColumn("_period", "string"))
    books.results.publish([], columns=wrong, periods=())
    books.define(double_into(books.destination()))
    with pytest.raises(RuntimeProviderError, match="account is bigint in the table, not string") as caught:
        books.place.resolve("close", "2026-01")
    problem = caught.value.problems[0]
    assert (problem.code, problem.location.operation_seq) == ("OUTPUT_002", 20)
    assert str(problem.location.file).endswith("project.yaml")


def test_output_without_period_column_is_reported_when_validating(books: Books) -> None:
    books.define(double_into(books.destination(), columns=["account", "doubled"]))
    with pytest.raises(RuntimeProviderError, match="must include the column _period") as caught:
        books.place.resolve("close", "2026-01")
    assert caught.value.code == "OUTPUT_002"


def test_missing_table_is_data_001_unless_it_may_be_empty(books: Books) -> None:
    books.define(double_into(books.destination()))
    with pytest.raises(RuntimeProviderError, match="no table") as caught:
        books.place.resolve("close", "2026-01")
    assert caught.value.code == "DATA_001"
    strategy = {"type": "table", "datasource_id": "tables", "table": TABLE[books.format].format("ledger")}
    rule = {"name": "any", "on_missing": "empty", "strategy": strategy}
    books.place.write_catalog("empty.yaml", {"resolver": {"id": "empty", "version": 1, "rules": [rule]}})
    books.define(double_into(books.destination()), resolver_overrides={"ledger": "empty"})
    books.run()
    assert books.read_results() == []


def test_files_of_a_version_that_has_expired_are_data_001(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    location = snapshot.input_table.locations[0]
    Path(f"{location.uri}/{location.files[0]}".removeprefix("file://")).unlink()
    result = books.place.execute(snapshot)
    assert result.problems[0].code == "DATA_001"
    assert f"version {location.version}" in result.problems[0].message
    assert "resolve again" in str(result.problems[0].hint)


@pytest.mark.parametrize("name", ["_one.parquet", ".one.parquet", "one.parquet._COPYING_"])
def test_file_that_spark_takes_for_hidden_is_source_001(books: Books, name: str) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    key, table = next(iter(snapshot.plan.tables.items()))
    (location,) = table.locations
    file = Path(f"{location.uri}/{location.files[0]}".removeprefix("file://"))
    file.rename(file.with_name(name))
    hidden = replace(location, files=(location.files[0].replace(file.name, name),))
    tables = {**snapshot.plan.tables, key: replace(table, locations=(hidden,))}
    result = books.place.execute(replace(snapshot, plan=replace(snapshot.plan, tables=tables)))
    assert result.problems[0].code == "SOURCE_001"
    assert name in result.problems[0].message


def test_file_of_a_version_that_was_replaced_under_its_name_is_data_001(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    location = snapshot.input_table.locations[0]
    file = Path(f"{location.uri}/{location.files[0]}".removeprefix("file://"))
    kept = pq.read_table(file, partitioning=None)
    pq.write_table(kept.set_column(0, "account", pa.array(["an account with a longer name"])), file)
    result = books.place.execute(snapshot)
    assert result.problems[0].code == "DATA_001"
    assert f"files of version {location.version}" in result.problems[0].message
    assert "were replaced" in result.problems[0].message


@pytest.mark.parametrize("landed", [False, True], ids=["before the commit", "after the commit"])
def test_crash_around_the_commit_is_completed_by_the_retry(books: Books, monkeypatch: Any, landed: bool) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    commit = TableCommits.commit

    def die(self: Any, report: Any, attempt: Any) -> Any:
        if landed:
            commit(self, report, attempt)
        raise KeyboardInterrupt

    monkeypatch.setattr(TableCommits, "commit", die)
    with pytest.raises(KeyboardInterrupt):
        books.place.execute(snapshot)
    monkeypatch.undo()
    result = books.place.execute(snapshot)
    assert result.succeeded
    assert books.read_results() == [("2026-01", "A0", "2.00")]
    assert len(books.results.open().read_head().list_changes()) == 1  # type: ignore[attr-defined]
    location = Path(books.results.open().find_location().removeprefix("file://"))
    assert len(list(location.glob("runtime-*/*"))) == 1


def test_commit_of_another_project_about_the_same_period_fails_the_run(books: Books, monkeypatch: Any) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into({**books.destination(), "shared": True}))
    books.run()
    commit = TableCommits.commit

    def meet(self: Any, report: Any, attempt: Any) -> Any:
        columns = (TableColumn("account", "string"), TableColumn("_period", "string"))
        books.results.publish([{"account": "X", "_period": "2026-01"}], project="other", columns=columns)
        return commit(self, report, attempt)

    monkeypatch.setattr(TableCommits, "commit", meet)
    books.ledger.publish(lines("2026-01", "4.00"), token=2)
    result = books.place.execute(books.place.resolve("close", "2026-01"))
    assert result.problems[0].code == "RUN_002"
    assert books.read_results() == [("2026-01", "X", "None")]
    monkeypatch.undo()
    books.run()
    assert books.read_results() == [("2026-01", "A0", "8.00")]


def test_registered_output_keeps_its_slices(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination(), register_as_dataset="Doubled"))
    result = books.run()
    assert result.registrations[0].version == 1
    shutil.rmtree(books.place.folder / ("warehouse/finance/results" if books.format == "iceberg" else "results"))
    output = make_output(20, "copy", columns=["account", "doubled"])
    books.place.write_catalog("reader.yaml", make_project("reader", [output], input_dataset_id="Doubled"))
    books.place.run("reader", "2026-01")
    assert books.place.read("copy", "account", "doubled") == [("A0", Decimal("2.00"))]


def test_join_of_a_table_takes_files_of_its_date(books: Books) -> None:
    from datetime import date

    books.ledger.publish(lines("2026-01", "1.00"))
    columns = (TableColumn("account", "string"), TableColumn("rate", "bigint"))
    columns += (TableColumn("_period_from", "date"), TableColumn("_period_to", "date"))
    rates = [
        {"account": "A0", "rate": 3, "_period_from": date(2025, 1, 1), "_period_to": date(2026, 1, 1)},
        {"account": "A0", "rate": 5, "_period_from": date(2026, 1, 1), "_period_to": None},
    ]
    kit = replace(books.ledger, name="rates")
    version = kit.publish(rates, columns=columns, periods=(), files=2)
    main = {
        "name": "rates",
        "temporal_mode": "bitemporal",
        "columns": [
            {"name": "account", "type": "string"},
            {"name": "rate", "type": "integer"},
        ],
    }
    rates_dataset = {"id": "rates", "name": "Rates", "version": 1, "resolver_id": "tables", "main_table": main}
    books.place.write_catalog("rates.yaml", {"dataset": rates_dataset})
    join = {"alias": "r", "dataset_id": "rates", "on": "ledger.account = r.account"}
    _, output = double_into(books.destination())
    books.define([make_update(10, [join], doubled="amount * r.rate"), output])
    snapshot = books.place.resolve("close", "2026-01")
    (pinned,) = snapshot.resolver_snapshot.join_datasets
    assert pinned.table_version == version
    (table,) = [table for table in snapshot.plan.tables.values() if table.table == "rates"]
    assert [len(location.files) for location in table.locations] == [1]
    assert books.place.execute(snapshot).succeeded
    assert [amount for _, _, amount in books.read_results()] == ["5.00"]


def test_columns_of_all_types_survive(books: Books) -> None:
    assert LEDGER[1].type == "decimal(18,2)"
    books.ledger.publish(lines("2026-01", "1.00"))
    columns = ["account", "_period", "number", "day", "moment", "yes"]
    operations = double_into(books.destination(), columns=columns)
    operations[0] = make_update(
        10,
        number="1",
        day='DATE("2026-01-31")',
        moment="NOW()",
        yes="amount = 1",
    )
    books.define(operations)
    books.run()
    (row,) = books.results.read()
    assert (row["number"], str(row["day"]), row["yes"]) == (1, "2026-01-31", True)
    assert row["moment"].isoformat() == "2026-11-01T00:00:00+00:00"


def test_example_reads_an_iceberg_ledger_and_publishes_a_delta_table(tmp_path: Path, spark: SparkSession) -> None:
    import runpy

    from deltalake import DeltaTable

    examples = tmp_path / "examples"
    for name in ("catalog", "data"):
        shutil.copytree(Path(__file__).parents[3] / "dags_examples" / name / "tables", examples / name / "tables")
    # Paths of a catalog are relative to its folder.
    runpy.run_path(str(examples / "data" / "tables" / "make_ledger.py"), run_name="__main__")
    registry = open_registry(f"sqlite:///{tmp_path}/registry.db")
    place = Workplace(examples, registry, spark, "")
    (examples / "catalog" / "sources.yaml").unlink()
    place.run("intercompany-balances", "2026-01")
    rows = DeltaTable(str(examples / "data" / "tables" / "results" / "balances")).to_pyarrow_table().to_pylist()
    assert sorted((row["company"], str(row["balance"])) for row in rows) == [("DE01", "1300.00"), ("US01", "-1300.00")]
    registry.close()


def test_staged_rows_are_committed_when_they_are_published(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    uri = write_snapshot(snapshot, str(books.place.folder / "snapshots"))
    runner = LocalRunner(books.place.registry, lambda: books.place.spark, books.place.said.append, stage_only=True)
    assert runner.execute(snapshot, uri).report["status"] == "staged"
    assert books.results.open().find_state().version is None
    assert runner.publish(snapshot, uri).succeeded
    assert books.read_results() == [("2026-01", "A0", "2.00")]


def test_diff_compares_with_the_period_that_is_published(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00", "2.00"))
    books.ledger.publish(lines("2026-02", "9.00"), period="2026-02")
    books.define(double_into(books.destination(), key=["account"]))
    first = _stage_and_compare(books)
    assert (first.rows_before, first.rows_after, first.added) == (0, 2, 2)
    books.run("2026-01")
    books.run("2026-02")
    books.ledger.publish(lines("2026-01", "1.00", "5.00", "3.00"), token=2)
    found = _stage_and_compare(books)
    assert (found.rows_before, found.rows_after) == (2, 3)
    assert (found.added, found.removed, found.changed, found.same) == (1, 0, 1, 1)
    assert books.read_results()[:2] == [("2026-01", "A0", "2.00"), ("2026-01", "A1", "4.00")]


def test_diff_of_a_column_that_the_table_lacks(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination(), key=["account"]))
    books.run()
    operations = double_into(books.destination(), columns=["account", "doubled", "amount", "_period"], key=["account"])
    books.define(operations, version=2)
    found = _stage_and_compare(books)
    changes = {column.name: column.changed for column in found.columns}
    assert (found.changed, changes["amount"], changes["doubled"]) == (1, 1, 0)


def test_diff_of_an_overwritten_table_compares_all_of_it(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.ledger.publish(lines("2026-02", "5.00"), period="2026-02")
    books.define(double_into(books.destination(), write_mode="overwrite", key=["account", "doubled"]))
    books.run("2026-01")
    found = _stage_and_compare(books, "2026-02")
    assert (found.rows_before, found.added, found.removed) == (1, 1, 1)


def test_report_shows_what_changed_when_the_project_asks_for_it(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination(), key=["account"]), publication={"compare": True})
    assert "comparison" not in books.run().report
    books.ledger.publish(lines("2026-01", "4.00"), token=2)
    (output,) = books.run().report["comparison"]["outputs"]
    assert (output["changed"], output["rows_before"]) == (1, 1)


def _stage_and_compare(books: Books, period: str = "2026-01") -> OutputComparison:
    """What `diff` shows for the one output: for rows staged to be compared, and for the same staged run later."""
    snapshot = books.place.resolve("close", period)
    uri = write_snapshot(snapshot, str(books.place.folder / "snapshots"))
    request = CompareRequest()
    runner = LocalRunner(
        books.place.registry, lambda: books.place.spark, books.place.said.append, stage_only=True, compare=request
    )
    assert runner.execute(snapshot, uri).succeeded
    record = books.place.registry.find_run(snapshot.run_id)
    assert record is not None
    (told,) = read_document(Comparison, (record.report or {})["comparison"]).outputs
    (later,) = runner.compare_staged(snapshot, record, request).outputs
    assert later == told
    runner.remove_staged(snapshot, record)
    books.place.registry.discard_staged(record.run_id, who="tester", reason="it was made for a comparison")
    return told


def test_why_proves_rows_of_tables_by_the_version_that_their_run_has_committed(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00", "2.00"))
    books.define(double_into(books.destination()))
    books.run()
    runner = LocalRunner(books.place.registry, lambda: books.place.spark, books.place.said.append)
    found = find_reported_run(books.place.registry, "close", "2026-01")
    snapshot = RunSnapshots().read(found.record)
    (row,) = ask(runner, found, snapshot, Question("amount = 2")).rows
    assert [(proof.selected, proof.published, proof.equal) for proof in row.outputs] == [(True, True, True)]
    assert row.origin.file is not None
    assert row.origin.file.endswith(".parquet")
    books.ledger.publish(lines("2026-01", "3.00"), token=2)
    books.run()
    replaced = find_reported_run(books.place.registry, "close", "2026-01", found.record.run_id)
    (row,) = ask(runner, replaced, snapshot, Question(row_id=row.row_id)).rows
    assert [(proof.selected, proof.published, proof.equal) for proof in row.outputs] == [(True, True, True)]


def test_clock_that_was_ahead_in_another_registry_is_reported_before_the_job_and_can_be_released(books: Books) -> None:
    books.ledger.publish(lines("2026-01", "1.00"))
    books.define(double_into(books.destination()))
    ahead = 4_102_444_800_000
    rows = [{"account": "A9", "doubled": Decimal("9.00"), "_period": "2026-01"}]
    columns = (
        TableColumn("account", "string"),
        TableColumn("doubled", "decimal(38,2)"),
        TableColumn("_period", "string"),
    )
    books.results.publish(rows, columns=columns, token=ahead, project="close")
    place = books.place
    with pytest.raises(RuntimeProviderError, match="is from the future: a clock was probably ahead") as caught:
        place.execute(place.resolve("close", "2026-01"))
    assert caught.value.code == "RUN_002"
    place.registry.release("close", "2026-01", who="ann", reason="the clock was wrong")
    books.run()
    assert books.read_results() == [("2026-01", "A0", "2.00")]

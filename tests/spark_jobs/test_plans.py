"""What plans look like and when rows are materialised."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.report import STEPS, name_step
from spark_jobs.contract.snapshot import parse_snapshot
from spark_jobs.contract.tables import Table
from spark_jobs.rows import staging
from spark_jobs.rows.executor import execute
from spark_jobs.sinks.protocol import StagedOutput
from spark_jobs.sources import parallel
from spark_jobs.spark.stages import find_last_stage, list_stages
from tests.spark_jobs.plan_builders import PlanBuilder, files, join, start, table

LONGEST_COMPILED_METHOD = 8000
TX = [("id", "bigint"), ("code", "string"), ("amount", "decimal(18,2)"), ("wide", "string")]


class FolderSinks:
    """Stages Parquet in a folder and remembers the plans that it ran."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[int] = []
        self.plans: list[str] = []
        self.methods: list[int] = []
        self.scratches = 0

    def begin(self) -> None: ...

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        assert frame.columns == [column.name for column in output.columns]
        uri = str(self.folder / str(output.seq))
        self.calls.append(output.seq)
        plan = frame._jdf.queryExecution().executedPlan()
        self.plans.append(plan.toString())
        self.methods.extend(measure_methods(frame.sparkSession, plan))
        before = self.count(output.seq, frame.sparkSession)
        frame.write.mode("append").parquet(uri)
        return StagedOutput(output.seq, self.count(output.seq, frame.sparkSession) - before, uri)

    def count(self, seq: int, spark: SparkSession) -> int:
        folder = self.folder / str(seq)
        return spark.read.parquet(str(folder)).count() if folder.exists() else 0

    def can_read_back(self, output: OutputOperation) -> bool:
        return True

    def scratch(self, name: str) -> str | None:
        self.scratches += 1
        return str(self.folder / f"{name}-{self.scratches}")

    def abandon(self) -> None: ...


def measure_methods(spark: SparkSession, plan: Any) -> list[int]:
    """Return the bytes of the longest generated method of each stage."""
    jvm = spark.sparkContext._jvm
    debug = getattr(jvm.org.apache.spark.sql.execution.debug, "package$")
    stages = getattr(debug, "MODULE$").codegenStringSeq(plan)
    return [stages.apply(index)._3().maxMethodCodeSize() for index in range(stages.size())]


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rows = spark.range(1000).selectExpr(
        "id", "concat('c', id % 7) AS code", "CAST(id AS decimal(18,2)) AS amount", "'w' AS wide"
    )
    rows.write.parquet(str(folder / "tx"))
    spark.range(7).selectExpr("concat('c', id) AS code", "id AS rate").write.parquet(str(folder / "rates"))
    return folder


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path


def with_rates(data: Path) -> PlanBuilder:
    plan = start(TX, files(data / "tx"))
    plan.tables["fx"] = table([("code", "string"), ("rate", "bigint")], files(data / "rates"))
    joins = [join("fx", "fx", ["rate"], ("code", "code"))]
    return plan.update(("rate", "bigint", "`@@fx`.`rate`"), joins=joins)


def test_equality_join_is_a_hash_join_by_size(spark: SparkSession, data: Path) -> None:
    with threshold(spark, "10MB"):
        sinks = FolderSinks(data / "small")
        execute(spark, with_rates(data).output("id", "rate").snapshot(), sinks)
        assert "BroadcastHashJoin" in sinks.plans[0]
        assert "LeftSingle" in sinks.plans[0]
    with threshold(spark, "-1"):
        sinks = FolderSinks(data / "large")
        execute(spark, with_rates(data).output("id", "rate").snapshot(), sinks)
        assert "ShuffledHashJoin" in sinks.plans[0]
        assert "NestedLoop" not in sinks.plans[0]


def test_one_dataset_is_opened_once_however_often_it_is_joined(
    spark: SparkSession, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Table] = []
    load = parallel.load_table
    monkeypatch.setattr(parallel, "load_table", lambda context, table: opened.append(table) or load(context, table))
    plan = with_rates(data)
    plan.tables |= {key: plan.tables["fx"] | {"mark": key} for key in ("next", "last")}
    both = [
        join("next", "next", ["rate"], condition="`@@next`.`rate` = `@w`.`rate` + 1"),
        join("last", "last", ["rate"], condition="`@@last`.`rate` = `@w`.`rate` - 1"),
    ]
    plan.update(("after", "bigint", "`@@next`.`rate`"), ("before", "bigint", "`@@last`.`rate`"), joins=both)
    sinks = FolderSinks(data / "out")
    execute(spark, plan.output("rate", "after", "before").snapshot(), sinks)
    assert [table.role for table in opened] == ["input", "join"]
    rows = spark.read.parquet(str(data / "out" / "30")).distinct().orderBy("rate").collect()
    assert [tuple(row) for row in rows] == [
        (rate, rate + 1 if rate < 6 else None, rate - 1 if rate else None) for rate in range(7)
    ]


@contextmanager
def threshold(spark: SparkSession, value: str) -> Iterator[None]:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", value)
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_scan_has_no_column_that_nobody_reads(spark: SparkSession, data: Path) -> None:
    sinks = FolderSinks(data / "out")
    execute(spark, with_rates(data).output("id", "rate").snapshot(), sinks)
    assert "wide" not in sinks.plans[0]
    assert "amount" not in sinks.plans[0]


def test_last_output_is_written_first_when_others_read_the_same_rows(spark: SparkSession, data: Path) -> None:
    plan = with_rates(data).delete("`@w`.`id` < 10").output("id", "rate")
    plan.aggregate(["rate"], ("total", "decimal(38,2)", "sum(`@w`.`amount`)")).output()
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.snapshot(), sinks)
    assert sinks.calls == [50, 30, 50]
    assert "tx" not in sinks.plans[1]
    assert [(item.rows_affected, item.rows_after) for item in report.operations] == [
        (1000, 1000), (10, 990), (990, 990), (7, 997), (997, 997),
    ]  # fmt: skip
    # The last output's action reads first, and so it computes what comes before the aggregate.
    assert [item.computed_with for item in report.operations] == [50, 50, 30, 50, 50]
    assert report.operations[0].seconds < report.operations[4].seconds
    written = spark.read.parquet(str(data / "out" / "50"))
    assert written.where("total IS NOT NULL").count() == 7
    assert written.where("id < 10").count() == 0


LOADED: dict[str, Any] = {"where": "`@w`.`_operation_seq` = 0L", "origins": [0], "picks_by_origin": True}
MADE: dict[str, Any] = {"where": "`@w`.`_operation_seq` > 0L", "origins": [20], "picks_by_origin": True}


def test_output_of_loaded_rows_is_written_first_although_made_rows_change_before(
    spark: SparkSession, data: Path
) -> None:
    plan = with_rates(data).aggregate(["rate"], ("total", "decimal(38,2)", "sum(`@w`.`amount`)"), **LOADED)
    plan.update(("code", "string", "'all'"), **MADE)
    plan.output("code", "rate", "total", **MADE).output("id", "code", "rate", "amount", **LOADED)
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.snapshot(), sinks)
    assert sinks.calls == [50, 40]
    assert "tx" not in sinks.plans[1]
    assert [item.rows_affected for item in report.operations] == [1000, 7, 7, 7, 1000]
    assert sinks.count(50, spark) == 1000
    made = spark.read.parquet(str(data / "out" / "40"))
    assert {(row.code, row.rate) for row in made.collect()} == {("all", rate) for rate in range(7)}


def test_rows_that_no_selector_can_pick_are_not_computed(spark: SparkSession, data: Path) -> None:
    nobody: dict[str, Any] = {"where": "`@w`.`_operation_seq` > 90L", "origins": [], "picks_by_origin": True}
    plan = with_rates(data).update(("code", "string", "'x'"), **nobody).delete(**nobody)
    plan.aggregate(["code"], ("n", "bigint", "count(1)"), **nobody).output("id", **nobody).output("id", "code")
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.snapshot(), sinks)
    assert [item.rows_affected for item in report.operations] == [1000, 0, 0, 0, 0, 1000]
    assert sinks.count(50, spark) == 0
    assert (data / "out" / "50").exists()
    assert [item.computed_with for item in report.operations] == [60, 20, 30, 60, 50, 60]
    assert "Scan parquet" not in sinks.plans[sinks.calls.index(50)]
    assert "Scan parquet" in sinks.plans[sinks.calls.index(60)]


def test_report_says_where_rows_that_no_output_reads_were_computed(spark: SparkSession, data: Path) -> None:
    plan = with_rates(data).output("id", "rate").update(("code", "string", "'late'"))
    report = execute(spark, plan.snapshot(), FolderSinks(data / "out"))
    assert [(item.seq, item.computed_with) for item in report.operations] == [(10, 20), (20, 20), (30, None)]
    assert set(report.timings) == {"load_seconds", "unread_seconds", "check_seconds"}


def test_stages_are_found_by_the_operation_that_caused_them(spark: SparkSession, data: Path) -> None:
    plan = with_rates(data).output("id", "rate")
    plan.aggregate(["rate"], ("total", "decimal(38,2)", "sum(`@w`.`amount`)")).output("rate", "total")
    last = find_last_stage(spark)
    report = execute(spark, plan.snapshot(), FolderSinks(data / "out"))
    stages = list_stages(spark, last)
    names = {name_step(item.seq, item.name): item for item in report.operations}
    assert set(stages) <= {*names, *STEPS.values()}
    written = {names[name].seq: sum(stage.rows_written for stage in stages[name]) for name in names if name in stages}
    # Three operations read the rows: the first of them writes a copy, and then its output.
    assert {seq: rows for seq, rows in written.items() if rows} == {20: 2000, 40: 1007}
    assert all(stage.tasks and stage.cpu_seconds >= 0 for found in stages.values() for stage in found)


def sum_by_code(data: Path, count: int) -> PlanBuilder:
    plan = with_rates(data)
    for number in range(count):
        plan.aggregate(["code"], (f"total_{number % 2}", "decimal(38,2)", "sum(`@w`.`amount`)"))
    return plan.output("code", "total_0")


def count_compiled(spark: SparkSession, plan: PlanBuilder, folder: Path, day: int = 1) -> int:
    """Execute a plan as the run of a day, and return how many classes Spark has made for it."""
    timer = spark.sparkContext._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    document = plan.document() | {"run_timestamp": f"2026-02-0{day}T00:00:00Z", "run_id": f"run-{day}"}
    content = json.dumps(document).encode()
    before = timer.getCount()
    execute(spark, parse_snapshot(content, hashlib.sha256(content).hexdigest()), FolderSinks(folder))
    return int(timer.getCount() - before)


def test_code_made_for_one_run_serves_the_next(spark: SparkSession, data: Path) -> None:
    plan = sum_by_code(data, 2)
    assert count_compiled(spark, plan, data / "first", day=1) > 0
    assert count_compiled(spark, plan, data / "second", day=2) == 0


def test_code_made_for_one_aggregate_serves_the_next(spark: SparkSession, data: Path) -> None:
    count_compiled(spark, sum_by_code(data, 2), data / "two")
    assert count_compiled(spark, sum_by_code(data, 6), data / "six") < 3 * 4


def test_rows_that_three_readers_need_are_copied_once(spark: SparkSession, data: Path) -> None:
    plan = with_rates(data)
    for _ in range(3):
        plan.output("id", where="`@w`.`rate` > 2")
    plan.update(("rate", "bigint", "0L")).output("id", "rate", include_deleted=True)
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.snapshot(), sinks)
    assert sinks.scratches == 1
    assert sinks.count(50 + 10, spark) == 1000
    assert report.operations[1].rows_affected == sum(1 for index in range(1000) if index % 7 > 2)


def test_copy_has_a_column_even_if_nobody_reads_any(
    spark: SparkSession, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "DEEPEST_PLAN", 1)
    plan = with_rates(data).aggregate(["_operation_seq"], ("n", "bigint", "count(1)"), **LOADED)
    plan.output("n", where="`@w`.`n` IS NOT NULL", origins=[20], picks_by_origin=False)
    sinks = FolderSinks(data / "out")
    execute(spark, plan.snapshot(), sinks)
    assert sinks.scratches == 1
    assert [row.n for row in spark.read.parquet(str(data / "out" / "30")).collect()] == [1000]


def test_observed_rows_are_copied_without_what_their_position_makes(spark: SparkSession, data: Path) -> None:
    plan = start(TX, files(data / "tx")).update(("amount", "decimal(18,2)", "1BD"), where="`@w`.`id` % 2 = 0")
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.output("_row_id", "_source_dataset", "_period", "amount").snapshot(), sinks)
    above, _, below = sinks.plans[0].partition("CollectMetrics")
    made = ("AS _row_id", "AS _source_dataset", "AS _period")
    assert [name in above for name in made] == [True] * 3, sinks.plans[0]
    assert [name in below for name in made] == [False] * 3, sinks.plans[0]
    assert report.operations[0].rows_affected == 500
    rows = spark.read.parquet(report.outputs[0].uri)
    assert rows.select("_row_id").distinct().count() == 1000
    assert rows.where("_row_id IS NULL OR _source_dataset IS NULL OR _period IS NULL").isEmpty()


def test_no_generated_method_is_too_long_for_java_to_compile(spark: SparkSession, data: Path) -> None:
    columns = [*TX, *[(f"a{index}", "decimal(18,2)") for index in range(20)]]
    wide = [f"CAST(id % {index + 7} AS decimal(18,2)) AS a{index}" for index in range(20)]
    spark.read.parquet(str(data / "tx")).selectExpr("*", *wide).write.parquet(str(data / "wide"))
    plan = start(columns, files(data / "wide"))
    for index in range(30):
        amount = f"`@w`.`a{index % 20}`"
        plan.update(
            (f"a{index % 20}", "decimal(18,2)", f"CAST({amount} * 1.{index + 10} AS decimal(18,2))"),
            where=f"`@w`.`id` % 7 = {index % 7} AND {amount} <> 3",
        )
    sinks = FolderSinks(data / "out")
    execute(spark, plan.output().snapshot(), sinks)
    assert sinks.calls == [310]
    assert 0 < max(sinks.methods) < LONGEST_COMPILED_METHOD, sinks.methods


@pytest.mark.parametrize(
    ("count", "deepest"), [(40, 15), pytest.param(1000, staging.DEEPEST_PLAN, marks=pytest.mark.chaos)]
)
def test_many_operations_over_files_run(
    spark: SparkSession, data: Path, monkeypatch: pytest.MonkeyPatch, count: int, deepest: int
) -> None:
    monkeypatch.setattr(staging, "DEEPEST_PLAN", deepest)
    plan = start(TX, files(data / "tx"))
    for index in range(count):
        plan.update(
            ("amount", "decimal(18,2)", f"CAST(`@w`.`amount` + {index} AS decimal(18,2))"),
            where=f"`@w`.`id` % 7 = {index % 7}",
        )
    sinks = FolderSinks(data / "out")
    report = execute(spark, plan.output("id", "amount").snapshot(), sinks)
    assert sinks.scratches > 1
    expected = sum(index + sum(range(index % 7, count, 7)) for index in range(1000))
    assert spark.read.parquet(str(data / "out" / f"{10 * (count + 1)}")).agg({"amount": "sum"}).first()[0] == expected
    assert sum(item.rows_affected or 0 for item in report.operations[:7]) == 1000

"""Files as sources: schemas, values, periods, row ids, and what reaches the scan."""

from __future__ import annotations

import os
from datetime import date, datetime
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.documents import read_document
from spark_jobs.contract.tables import Table
from spark_jobs.errors import JobError
from spark_jobs.rows.executor import Execution
from spark_jobs.rows.working import WorkingDataset
from spark_jobs.sources import SourceContext, load_table, splits
from spark_jobs.sources.database_snapshots import DatabaseSnapshots
from tests.spark_jobs.plan_builders import files, join, memory, run, start, table

TX = [
    ("id", "string"),
    ("n", "bigint"),
    ("amount", "decimal(18,2)"),
    ("day", "date"),
    ("at", "timestamp"),
    ("ok", "boolean"),
]
HEAD = "id,n,amount,day,at,ok"
GOOD = 'a,1,1.50,2026-01-31,2026-01-31T10:00:00Z,true\n"",,,,,\n'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read_ids(
    spark: SparkSession, location: dict[str, object], columns: list[tuple[str, str]]
) -> dict[tuple[object, ...], str]:
    rows = run(spark, start(columns, location).output(*[name for name, _ in columns], "_row_id")).rows(10)
    return {row[:-1]: row[-1] for row in rows}


def test_csv_values_arrive_typed_and_empty_is_null(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{HEAD},extra\n" + GOOD.replace("\n", ",x\n"))
    plan = start(TX, files(path, "csv")).output("id", "n", "amount", "day", "at", "ok")
    assert run(spark, plan).rows(10) == [
        ("", None, None, None, None, None),
        ("a", 1, D("1.50"), date(2026, 1, 31), datetime(2026, 1, 31, 10), True),
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("n", "1.5"), ("n", "x"), ("n", "9223372036854775808"), ("amount", "1.005"), ("amount", "x"),
        ("amount", "0.0000000000000000000000000000000000000000001"), ("amount", "99999999999999999.00"),
        ("amount", "NaN"), ("day", "2026-02-30"), ("day", "31.01.2026"), ("day", "2026-01-31 rubbish"), ("day", "2026"),
        ("at", "yesterday"), ("at", "2026"), ("ok", "perhaps"),
    ],
)  # fmt: skip
def test_csv_with_a_malformed_value_names_column_and_value(
    spark: SparkSession, tmp_path: Path, column: str, value: str
) -> None:
    values = dict(zip(HEAD.split(","), GOOD.splitlines()[0].split(","), strict=True)) | {column: value}
    path = write(tmp_path / "a.csv", f"{HEAD}\n{','.join(values.values())}\n")
    plan = start(TX, files(path, "csv")).output("id", "n", "amount", "day", "at", "ok")
    with pytest.raises(JobError, match="DATA_003") as caught:
        run(spark, plan)
    assert column in caught.value.message
    assert value[:50] in caught.value.message
    assert caught.value.mark == "input"


def test_csv_trailing_zeros_beyond_the_scale_are_the_same_number(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,amount\na,1.5000\nb,-.5\nc,+12\n")
    plan = start([("id", "string"), ("amount", "decimal(18,2)")], files(path, "csv")).output("amount")
    assert run(spark, plan).rows(10) == sorted([(D("1.50"),), (D("-0.50"),), (D("12.00"),)], key=repr)


def test_csv_options_mean_the_same_in_any_case(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "0012,1.10\n")
    options = {"Header": "false", "INFERSCHEMA": "true"}
    plan = start([("id", "string"), ("amount", "decimal(18,2)")], files(path, "csv", options=options))
    assert run(spark, plan.output("id", "amount")).rows(10) == [("0012", D("1.10"))]


@pytest.mark.parametrize(("kind", "text"), [("csv", "id,n\na\n"), ("json", '{"id": "a", broken\n')])
def test_no_option_makes_spark_leave_out_what_it_cannot_read(
    spark: SparkSession, tmp_path: Path, kind: str, text: str
) -> None:
    path = write(tmp_path / f"a.{kind}", text)
    plan = start([("id", "string"), ("n", "bigint")], files(path, kind, options={"Mode": "DROPMALFORMED"}))
    with pytest.raises(JobError, match="DATA_003"):
        run(spark, plan.output("id", "n"))


def test_json_values_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '{"id": "a", "n": 7, "amount": 0.10}\n{"id": "b", "amount": 12345678901234.56}\n')
    plan = start([("id", "string"), ("n", "bigint"), ("amount", "decimal(18,2)")], files(path, "json"))
    rows = run(spark, plan.output("id", "n", "amount")).rows(10)
    assert rows == [("a", 7, D("0.10")), ("b", None, D("12345678901234.56"))]


def test_null_in_a_column_that_is_not_nullable_is_an_error(spark: SparkSession) -> None:
    plan = start([("id", "string")], memory(["id"], ("a",), (None,)), required=("id",)).output("id")
    with pytest.raises(JobError, match=r"DATA_003: .*column 'id': NULL"):
        run(spark, plan)


def test_schema_that_does_not_fit_lists_every_column(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1.5D AS amount, '1' AS n, 'a' AS ID").write.parquet(str(tmp_path / "p"))
    columns = [("id", "string"), ("n", "bigint"), ("amount", "decimal(18,2)")]
    with pytest.raises(JobError) as caught:
        run(spark, start(columns, files(tmp_path / "p")).output("id"))
    assert caught.value.exit_code == 11
    assert [(problem.code, problem.message.split(": ")[-1]) for problem in caught.value.problems] == [
        ("DATA_002", "column 'id' is missing; the data have 'amount', 'n', 'ID'"),
        ("DATA_002", "column 'n' is string, declared as integer"),
        ("DATA_002", "column 'amount' is double, declared as decimal(18,2)"),
    ]


def test_parquet_types_widen_without_loss(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        "SELECT CAST(1 AS tinyint) AS a, CAST(2 AS int) AS b, CAST(1.5 AS decimal(4,1)) AS c, 7 AS d,"
        " TIMESTAMP_NTZ'2026-01-01 10:00:00' AS e"
    ).write.parquet(str(tmp_path / "p"))
    columns = [("a", "bigint"), ("b", "bigint"), ("c", "decimal(18,2)"), ("d", "decimal(18,2)"), ("e", "timestamp")]
    rows = run(spark, start(columns, files(tmp_path / "p")).output("a", "b", "c", "d", "e")).rows(10)
    assert rows == [(1, 2, D("1.50"), D("7.00"), datetime(2026, 1, 1, 10))]


def test_missing_location_follows_the_rule(spark: SparkSession, tmp_path: Path) -> None:
    columns = [("id", "string")]
    with pytest.raises(JobError, match="DATA_001"):
        run(spark, start(columns, files(tmp_path / "none")).output("id"))
    assert run(spark, start(columns, files(tmp_path / "none", on_missing="empty")).output("id")).rows(10) == []
    plan = start(columns, memory(["id"], ("a",)))
    plan.tables["b"] = table(columns, files(tmp_path / "none", "csv"), role="append")
    with pytest.raises(JobError, match="APPEND_008"):
        run(spark, plan.append("b", ("id", "string", "`@w`.`id`")).output("id"))


def test_period_tables_are_filtered_or_take_the_period_of_their_location(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT * FROM VALUES ('a', '2026-01'), ('b', '2026-02'), ('c', null) AS t(id, fiscal)").write.parquet(
        str(tmp_path / "with")
    )
    spark.sql("SELECT 'x' AS id").write.parquet(str(tmp_path / "without"))
    locations = (files(tmp_path / "with", period="2026-01"), files(tmp_path / "without", period="2026-02"))
    plan = start([("id", "string")], *locations, mode="period", period_column="fiscal").output("id", "_period")
    assert run(spark, plan).rows(10) == [("a", "2026-01"), ("x", "2026-02")]


def test_bitemporal_table_is_read_as_of_the_day(spark: SparkSession) -> None:
    rows = memory(
        ["id", "_period_from", "_period_to"],
        ("old", "2025-01-01", "2026-01-01"),
        ("now", "2026-01-01", None),
        ("bounded", "2025-12-31", "2026-01-02"),
        ("next", "2026-01-02", None),
    )
    plan = start([("id", "string")], rows, mode="bitemporal")
    plan.system = [*plan.system[:-1], ("_period_from", "date"), ("_period_to", "date")]
    assert [row[0] for row in run(spark, plan.output("id", "_period_from")).rows(10)] == ["bounded", "now"]


def test_tasks_of_a_scan_end_together_on_a_single_machine(spark: SparkSession, tmp_path: Path) -> None:
    for index in range(10):
        with (tmp_path / f"{index}.txt").open("wb") as empty:
            empty.truncate(25 << 20)
    assert spark.read.text(str(tmp_path)).rdd.getNumPartitions() == 3
    assert splits.spread_files(spark, spark.read.text(str(tmp_path)).inputFiles())
    assert spark.read.text(str(tmp_path)).rdd.getNumPartitions() == 2
    spark.conf.set(splits.SPLIT_SETTING, "30m")
    assert not splits.spread_files(spark, spark.read.text(str(tmp_path)).inputFiles())
    assert spark.conf.get(splits.SPLIT_SETTING) == "30m"


def test_the_size_of_tasks_is_chosen_for_one_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.range(20).write.parquet(str(tmp_path / "p"))
    chosen: list[list[int]] = []
    monkeypatch.setattr(splits, "choose_split_bytes", lambda sizes, _cores: chosen.append(sizes) or 100 << 20)
    assert len(read_ids(spark, files(tmp_path / "p"), [("id", "bigint")])) == 20
    assert sorted(chosen[0]) == sorted(path.stat().st_size for path in (tmp_path / "p").glob("*.parquet"))
    assert spark.conf.get(splits.SPLIT_SETTING) == f"{splits.USUAL_BYTES}b"


def test_json_without_the_period_key_takes_the_period_of_its_location(spark: SparkSession, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json", '{"id": "a"}\n{"id": "b", "_period": "2026-01"}\n{"id": "c", "_period": "2026-02"}\n'
    )
    plan = start([("id", "string")], files(path, "json", period="2026-02"), mode="period").output("id", "_period")
    assert run(spark, plan).rows(10) == [("a", "2026-02"), ("c", "2026-02")]


def test_csv_quotes_are_doubled_as_other_tools_write_them(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,note\na,"say ""hi"", ü"\nb,"ends in \\"\nc,plain\n')
    plan = start([("id", "string"), ("note", "string")], files(path, "csv")).output("id", "note")
    assert run(spark, plan).rows(10) == [("a", 'say "hi", ü'), ("b", "ends in \\"), ("c", "plain")]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("short.csv", "id,note\na,1\nb\n", "DATA_003"),
        ("long.csv", "id,note\na,1\nb,2,3\n", "DATA_003"),
        ("broken.json", '{"id": "a"}\n{oops\n', "DATA_003"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_of_the_data(
    spark: SparkSession, tmp_path: Path, name: str, text: str, code: str
) -> None:
    path = write(tmp_path / name, text)
    plan = start([("id", "string"), ("note", "string")], files(path, path.suffix[1:])).output("id", "note")
    with pytest.raises(JobError, match=code):
        run(spark, plan)


@pytest.mark.parametrize(
    "text", [r"\ud83d", r"\uDE00", r"a\ud83db", r"\ud83d\ud83d\ude00", r"\ude00\ud83d", r"\\\ud800", r"\ud83d\\ude00"]
)
@pytest.mark.parametrize("kept", ["id", "note", "amount"])
def test_half_of_a_surrogate_pair_in_json_is_refused(spark: SparkSession, tmp_path: Path, text: str, kept: str) -> None:
    path = write(tmp_path / "a.json", f'{{"id": "a", "amount": 1, "note": "{text}"}}\n{{"id": "b", "note": "x"}}\n')
    columns = [("id", "string"), ("note", "string"), ("amount", "decimal(18,2)")]
    plan = start(columns, files(path, "json")).output(kept)
    with pytest.raises(JobError, match="half of a surrogate pair, which is not a character") as raised:
        run(spark, plan)
    assert raised.value.code == "DATA_003"
    assert "a.json" in str(raised.value)


def test_whole_surrogate_pairs_and_backslashes_in_json_are_read(spark: SparkSession, tmp_path: Path) -> None:
    texts = [r"\ud83d\ude00", r"\uD83D\uDE00", r"\\ud83d", r"\\\\ude00", r"?", r"\u00e4"]
    path = write(tmp_path / "a.json", "".join(f'{{"note": "{text}"}}\n' for text in texts))
    plan = start([("note", "string")], files(path, "json")).output("note")
    expected = ["😀", "😀", "\\ud83d", "\\\\ude00", "?", "ä"]
    assert run(spark, plan).rows(10) == sorted((text,) for text in expected)


@pytest.mark.parametrize("kind", ["parquet", "json", "csv", "orc"])
def test_rows_that_their_source_has_deleted_take_no_part_in_joins_and_appends(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    spark.sql(
        "SELECT * FROM VALUES ('a', 'old', true), ('a', 'new', false), ('b', 'b', null) AS t(id, v, _deleted)"
    ).write.format(kind).option("header", "true").save(str(tmp_path / "in"))
    location, columns = files(tmp_path / "in", kind), [("id", "string"), ("v", "string")]
    plan = start([("id", "string"), ("v", "string")], memory(["id", "v"], ("a", "x")))
    plan.tables["j"] = table(columns, location)
    plan.tables["s"] = table(columns, location, role="append")
    plan.update(("v", "string", "`@@j`.`v`"), joins=[join("j", "j", ["v"], ("id", "id"))])
    plan.append("s", ("id", "string", "`@w`.`id`"), ("v", "string", "`@w`.`v`")).output("id", "v")
    assert run(spark, plan).rows(30) == [("a", "new"), ("a", "new"), ("b", "b")]
    kept = start(columns, location).output("v", "_deleted", include_deleted=True)
    assert run(spark, kept).rows(10) == [("b", False), ("new", False), ("old", True)]


@pytest.mark.parametrize("role", ["join", "input"])
def test_scan_reads_needed_columns_of_the_period_only(spark: SparkSession, tmp_path: Path, role: str) -> None:
    spark.range(10).selectExpr("id", "'2026-01' AS _period", "'x' AS unused", "id AS used").write.parquet(
        str(tmp_path / "p")
    )
    document = table([("used", "bigint"), ("unused", "string")], files(tmp_path / "p"), role=role, mode="period")
    context = SourceContext(spark, "2026-01", date(2026, 1, 1), lambda _: {}, DatabaseSnapshots(spark))
    frame = load_table(context, read_document(Table, document)).frame.where("used > 3").select("used")
    text = frame._jdf.queryExecution().executedPlan().toString()
    assert "EqualTo(_period,2026-01), GreaterThan(used,3)]" in text
    extra = ",_tmp_metadata_row_index:bigint" if role == "input" else ""
    assert f"ReadSchema: struct<_period:string,used:bigint{extra}>" in text


def test_file_that_is_replaced_while_a_run_reads_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", "id,v\na,1\n")
    plan = start([("id", "string"), ("v", "bigint")], files(path, "csv")).output("id", "v").output("v")
    settled = Execution._settle
    status = path.stat()

    def replace_file(execution: Execution, working: WorkingDataset) -> None:
        settled(execution, working)
        # As large and as old, but another file.
        other = write(tmp_path / "b", "id,v\na,2\n")
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(path)

    monkeypatch.setattr(Execution, "_settle", replace_file)
    with pytest.raises(JobError, match=r"DATA_004: table .*a\.csv was replaced while the run read it"):
        run(spark, plan)


def test_months_in_one_file_must_all_have_rows_where_all_are_required(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,_period\na,2026-01\nb,2026-03\n")

    def read(*months: str, needs: bool) -> Any:
        places = [files(path, "csv", period=f"2026-{month}", needs_rows=needs) for month in months]
        return run(spark, start([("id", "string")], *places, mode="period").output("id")).rows(10)

    assert sorted(read("01", "02", "03", needs=False)) == [("a",), ("b",)]
    assert sorted(read("01", "03", needs=True)) == [("a",), ("b",)]
    with pytest.raises(JobError, match=r"DATA_001: .*no rows of 2026-02, 2026-04 at .*a\.csv"):
        read("01", "02", "03", "04", needs=True)


def test_one_file_for_several_months_without_a_period_column_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id\na\n")
    places = [files(path, "csv", period=f"2026-0{month}") for month in (1, 2)]
    with pytest.raises(JobError, match=r"DATA_002: .*is read for 2026-01, 2026-02 and has no column '_period'"):
        run(spark, start([("id", "string")], *places, mode="period").output("id"))


def test_file_that_two_places_have_in_common_is_not_read_twice(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "day-1.csv", "id,_period\na,2026-01\n")
    write(tmp_path / "day-2.csv", "id,_period\nb,2026-02\n")

    def read(mode: str, *places: dict[str, Any]) -> Any:
        return run(spark, start([("id", "string")], *places, mode=mode).output("id")).rows(10)

    twice = [files(tmp_path / "day-*.csv", "csv"), files(tmp_path / "day-2.csv", "csv")]
    for mode in ("snapshot", "period"):
        with pytest.raises(JobError, match=r"DATA_002: .*day-2\.csv is in .*day-\*\.csv and .*day-2\.csv"):
            read(mode, *twice)
    first, second = (place | {"period": f"2026-0{number}"} for number, place in enumerate(twice, start=1))
    assert sorted(read("period", first, second)) == [("a",), ("b",)]
    write(tmp_path / "day-1.csv", "id\na\n")
    write(tmp_path / "day-2.csv", "id\nb\n")
    with pytest.raises(JobError, match=r"DATA_002: .*day-2\.csv is in"):
        read("period", first, second)

"""Files as sources: schemas, values, periods, row ids, and what reaches the scan."""

from __future__ import annotations

import json
import os
import uuid
from datetime import date, datetime
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.plan import Table
from spark_jobs.contract.sql import quote_text
from spark_jobs.errors import JobError
from spark_jobs.rows.executor import Execution
from spark_jobs.rows.working import WorkingDataset
from spark_jobs.sources import SourceContext, load_table, numbering, splits
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


@pytest.mark.parametrize("name", ["run[1]", "run{1,2}", "run*", "run?", "run 1"])
def test_folder_with_characters_of_patterns_means_itself(spark: SparkSession, tmp_path: Path, name: str) -> None:
    for folder, value in (("run1", "neighbour"), ("runs", "neighbour"), (name, "own")):
        spark.range(1).selectExpr(f"'{value}' id").coalesce(1).write.parquet(f"{tmp_path}/{folder}/data")
        write(tmp_path / folder / "csv" / "t.csv", f"id\n{value}\n")
    folder = escape_pattern(f"{tmp_path}/{name}")
    found = {}
    for path, kind in (("data", "parquet"), ("da*", "parquet"), ("csv/*.csv", "csv"), ("csv/t.csv", "csv")):
        plan = start([("id", "string")], files(f"{folder}/{path}", kind)).output("id", "_row_id")
        ((value, found[path]),) = run(spark, plan).rows(10)
        assert value == "own"
    plain = start([("id", "string")], files(tmp_path / "run1/data")).output("_row_id")
    (file,) = (tmp_path / name / "data").glob("part-*.parquet")
    (other,) = (tmp_path / "run1/data").glob("part-*.parquet")
    other.rename(other.with_name(file.name))
    assert run(spark, plain).rows(10) == [(found["data"],)]
    with pytest.raises(JobError) as caught:
        run(spark, start([("id", "string")], files(f"{folder}/none")).output("id"))
    assert caught.value.code == "DATA_001"
    assert f"{name}/none" in caught.value.message


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


def read_ids(
    spark: SparkSession, location: dict[str, object], columns: list[tuple[str, str]]
) -> dict[tuple[object, ...], str]:
    rows = run(spark, start(columns, location).output(*[name for name, _ in columns], "_row_id")).rows(10)
    return {row[:-1]: row[-1] for row in rows}


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


def test_parquet_row_ids_do_not_depend_on_splits_or_neighbours(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5000).repartition(3).write.option("parquet.block.size", 4096).parquet(str(tmp_path / "one" / "p"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    first = read_ids(spark, files(tmp_path / "one" / "p"), [("id", "bigint")])
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 27))
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    (tmp_path / "one").rename(tmp_path / "moved elsewhere")
    spark.range(5000, 5010).write.mode("append").parquet(str(tmp_path / "moved elsewhere" / "p"))
    second = read_ids(spark, files(tmp_path / "moved elsewhere" / "p"), [("id", "bigint")])
    assert len(set(first.values())) == 5000
    assert len(set(second.values())) == 5010
    assert first.items() <= second.items()
    parsed = uuid.UUID(next(iter(first.values())))
    assert parsed.version == 7
    assert parsed.variant == uuid.RFC_4122
    assert parsed.int >> 80 == 1769904000000


def test_files_of_short_names_have_ids_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    for name in ("f.parquet", "g.parquet", "01.parquet", "02.parquet"):
        (tmp_path / "in").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": [name]}), tmp_path / "in" / name)
    ids = read_ids(spark, files(tmp_path / "in"), [("id", "string")])
    assert len(set(ids.values())) == 4


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


def test_csv_row_ids_follow_the_content(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f"{index % 50},x" for index in range(200)]
    write(tmp_path / "c" / "1.csv", "\n".join(["id,t", *lines]) + "\n")
    plan = start([("id", "bigint"), ("t", "string")], files(tmp_path / "c", "csv")).output("id", "t", "_row_id")
    first = run(spark, plan).rows(10)
    write(tmp_path / "c" / "1.csv", "\n".join(["id,t", *lines[100:]]) + "\n")
    write(tmp_path / "c" / "2.csv", "\n".join(["id,t", *lines[:100]]) + "\n")
    spark.conf.set("spark.sql.shuffle.partitions", "9")
    assert run(spark, plan).rows(10) == first
    assert len({row[2] for row in first}) == 200


def test_row_ids_of_rows_that_differ_in_a_null_do_not_depend_on_the_files(spark: SparkSession, tmp_path: Path) -> None:
    rows = [f"{a},{b}\n" for _ in range(20) for a, b in (("a", ""), ("", "a"))]
    for name, cuts in (("one", [rows]), ("many", [rows[i::4] for i in range(4)])):
        (tmp_path / name).mkdir()
        for number, cut in enumerate(cuts):
            write(tmp_path / name / f"{number}.csv", "x,y\n" + "".join(cut))
    plans = [start([("x", "string"), ("y", "string")], files(tmp_path / name, "csv")) for name in ("one", "many")]
    first, second = (run(spark, plan.output("x", "y", "_row_id")).rows(10) for plan in plans)
    assert first == second


KEPT = "0190163d-8694-739b-aea5-966c26f8ad91"


def test_kept_row_ids_stay_in_lower_case_and_nulls_are_made(spark: SparkSession) -> None:
    rows = memory(["id", "_row_id"], ("a", KEPT.upper()), ("b", None))
    kept, made = run(spark, start([("id", "string")], rows).output("id", "_row_id")).rows(10)
    assert kept == ("a", KEPT)
    assert uuid.UUID(made[1]).version == 7


def test_kept_row_ids_that_repeat_in_whatever_case_are_an_error(spark: SparkSession) -> None:
    rows = memory(["id", "_row_id"], ("a", KEPT), ("b", KEPT.upper()))
    with pytest.raises(JobError, match=rf"DATA_003.*{KEPT}"):
        run(spark, start([("id", "string")], rows).output("id"))


@pytest.mark.parametrize(
    "wrong", ["r-1", "", KEPT.replace("-739b", "-439b"), KEPT.replace("-aea5", "-7ea5"), KEPT + "0"]
)
def test_kept_row_ids_that_are_no_uuid_of_version_7_are_an_error(spark: SparkSession, wrong: str) -> None:
    plan = start([("id", "string")], memory(["id", "_row_id"], ("a", wrong))).output("id", "_row_id")
    with pytest.raises(JobError, match=r"DATA_003.*column '_row_id'.*is not a UUID of version 7"):
        run(spark, plan)


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


def test_files_of_several_locations_get_hashes_of_their_own(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "HASH_BITS", 7)
    paths = [(f"2026-01-{day:02d}/0", "part-00000.parquet") for day in range(1, 32)]
    salt = numbering.find_salt(paths)
    hashed = [numbering.build_hash(quote_text(f"{salt}:{key}"), f"CAST('{path}' AS binary)") for key, path in paths]
    hashes = set(spark.sql(f"SELECT {', '.join(hashed)}").collect()[0])
    assert len(hashes) == 31
    assert salt > 0


def test_locations_of_a_table_share_their_salt(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "HASH_BITS", 7)
    for day in range(12):
        spark.range(2).write.parquet(str(tmp_path / f"d{day}"))
    days = [files(tmp_path / f"d{day}", period=f"2026-01-{day + 1:02d}") for day in range(12)]
    plan = start([("id", "bigint")], *days, mode="period").output("id", "_row_id")
    assert len({row[1] for row in run(spark, plan).rows(10)}) == 24


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


def write_both(folder: Path, kind: str, **columns: str) -> None:
    """One row as a file of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({name: [value] for name, value in columns.items()}), folder / "a.parquet"
        )
    elif kind == "orc":
        pyarrow.orc.write_table(pyarrow.table({name: [value] for name, value in columns.items()}), folder / "a.orc")
    elif kind == "csv":
        write(folder / "a.csv", f"{','.join(columns)}\n{','.join(columns.values())}\n")
    else:
        write(folder / "a.json", json.dumps(columns) + "\n")


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json"])
def test_column_that_is_in_the_files_and_names_their_folders(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    declared = [("id", "string"), ("v", "string")]
    write_both(tmp_path / "id=ZZ", kind, v="1")
    write_both(tmp_path / "id=Y Y%2F", kind, **({"id": "A"} if kind != "csv" else {}), v="2")
    if kind == "csv":
        write_both(tmp_path / "id=ZZ", kind, id="A", v="1")
        write_both(tmp_path / "id=Y Y%2F", kind, id="A", v="2")
    with pytest.raises(JobError) as caught:
        run(spark, start(declared, files(tmp_path, kind)).output("id", "v"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.column) == ("DATA_002", "id")
    assert "is in the files, and in the names of their folders" in problem.message
    assert problem.hint == "write the files without the column, or give the folders another name"
    # Who does not ask for the column does not care, and one folder read by itself names nothing.
    assert run(spark, start([("v", "string")], files(tmp_path, kind)).output("v")).rows(10) == [("1",), ("2",)]
    if kind != "csv":
        assert run(spark, start(declared, files(tmp_path / "id=Y Y%2F", kind)).output("id")).rows(10) == [("A",)]


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json"])
def test_column_that_only_the_folders_name(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    for folder, value in (("period=2026-01", "1"), ("period=2026-02", "2")):
        write_both(tmp_path / folder, kind, v=value)
    plan = start([("v", "string")], files(tmp_path, kind), mode="period", period_column="period").output("v", "_period")
    assert [row[0] for row in run(spark, plan).rows(10)] == ["1"]
    both = start([("v", "string"), ("period", "string")], files(tmp_path, kind)).output("v", "period")
    assert run(spark, both).rows(10) == [("1", "2026-01"), ("2", "2026-02")]


def test_folder_of_another_period_may_hold_what_it_likes(spark: SparkSession, tmp_path: Path) -> None:
    write_both(tmp_path / "period=2026-01", "parquet", v="1")
    write_both(tmp_path / "period=2025-12", "parquet", v="2", period="FY26-P06")
    plan = start([("v", "string")], files(tmp_path), mode="period", period_column="period").output("v")
    assert run(spark, plan).rows(10) == [("1",)]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columns_that_come_and_go_are_null(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    write_both(tmp_path / "period=2026-01", kind, v="1", old="x")
    write_both(tmp_path / "period=2026-02", kind, v="2", new="y")
    plan = start([("v", "string"), ("new", "string"), ("old", "string")], files(tmp_path, kind)).output(
        "v", "new", "old"
    )
    assert run(spark, plan).rows(10) == [("1", None, "x"), ("2", "y", None)]


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

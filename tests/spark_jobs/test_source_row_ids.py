"""Row ids: those that a source brings along, and those that are made of content and position."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.sql import quote_text
from spark_jobs.errors import JobError
from spark_jobs.rows.row_ids import build_row_id, make_prefix
from spark_jobs.sources import numbering
from tests.spark_jobs.plan_builders import files, memory, run, start
from tests.spark_jobs.test_sources import read_ids, write


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
    import pyarrow.parquet

    for name in ("f.parquet", "g.parquet", "01.parquet", "02.parquet"):
        (tmp_path / "in").mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": [name]}), tmp_path / "in" / name)
    ids = read_ids(spark, files(tmp_path / "in"), [("id", "string")])
    assert len(set(ids.values())) == 4


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


def test_kept_row_ids_that_repeat_in_any_case_are_an_error(spark: SparkSession) -> None:
    rows = memory(["id", "_row_id"], ("a", KEPT), ("b", KEPT.upper()))
    with pytest.raises(JobError, match=rf"DATA_003.*{KEPT}"):
        run(spark, start([("id", "string")], rows).output("id"))


@pytest.mark.parametrize("is_small", [True, False])
def test_kept_row_ids_need_no_position_where_only_groups_are_written(
    spark: SparkSession, tmp_path: Path, is_small: bool
) -> None:
    columns = ["id", "_row_id"]
    rows = [("a", KEPT), ("a", KEPT.replace("91", "92")), ("b", None)]
    spark.createDataFrame(rows, "id string, _row_id string").write.parquet(str(tmp_path / "in"))
    source = memory(columns, *rows) if is_small else files(tmp_path / "in")
    plan = start([("id", "string")], source).aggregate(["id"], ("n", "bigint", "count(1)"))
    groups = {"where": "`@w`.`_operation_seq` = 10", "origins": [10], "picks_by_origin": True}
    result = run(spark, plan.output("id", "n", **groups))
    assert result.rows(20) == [("a", 2), ("b", 1)]
    assert result.report.rows_in == 3


def test_row_without_a_position_gets_no_id(spark: SparkSession) -> None:
    made = build_row_id(make_prefix(datetime(2026, 2, 1, tzinfo=UTC), 0), "position", period_bits=0)
    rows = spark.range(4).selectExpr("IF(id < 2, id, NULL) AS position").selectExpr(f"{made} AS id").collect()
    assert [row.id is None for row in rows] == [False, False, True, True]


@pytest.mark.parametrize(
    "wrong", ["r-1", "", KEPT.replace("-739b", "-439b"), KEPT.replace("-aea5", "-7ea5"), KEPT + "0"]
)
def test_kept_row_ids_that_are_not_uuids_of_version_7_are_an_error(spark: SparkSession, wrong: str) -> None:
    plan = start([("id", "string")], memory(["id", "_row_id"], ("a", wrong))).output("id", "_row_id")
    with pytest.raises(JobError, match=r"DATA_003.*column '_row_id'.*is not a UUID of version 7"):
        run(spark, plan)


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

"""CSV and JSON that outputs write, read back by other programs and by ourselves."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.tables import Column
from spark_jobs.errors import JobError
from tests.spark_jobs.plan_builders import files, run, start
from tests.spark_jobs.publishing import make_output, make_snapshot, publish

pytestmark = pytest.mark.spark

TEXTS = {
    "quotes": 'say "hi", "" and """',
    "separators": "a,b;c\td|e",
    "line break": "one\ntwo",
    "carriage return": "one\r\ntwo\rthree",
    "backslash": "ends in \\",
    "backslash quote": '\\" \\n',
    "spaces": "  both ends ",
    "only a space": " ",
    "empty": "",
    "null": None,
    "word null": "NULL",
    "nul": 'a\0b, "\0"" \0',
    "hash": "# no comment",
    "planes": "Zürich 漢字 \U0001f600 \u2028",
}
COLUMNS = (Column("id", "string"), Column("note", "string"), Column("amount", "decimal(18,2)"), Column("ok", "boolean"))


def write(spark: SparkSession, table: Path, kind: str) -> Path:
    """Publish one row a text and return the only file."""
    output = make_output(table, columns=COLUMNS)
    output = replace(output, destination=replace(output.destination, format=kind))
    rows = list(TEXTS.items())
    frame = spark.createDataFrame(rows, "id string, note string").coalesce(1)
    frame = frame.selectExpr("id", "note", "CAST(-0.10 AS decimal(18,2)) amount", "CAST(NULL AS boolean) ok")
    publish(spark, make_snapshot([output]), 1, [frame])
    (file,) = (table / "period=2026-01").iterdir()
    return file


def test_csv_is_read_back_exactly_by_others(spark: SparkSession, tmp_path: Path) -> None:
    file = write(spark, tmp_path / "out", "csv")
    with file.open(encoding="utf-8", newline="") as stream:
        found = {row["id"]: row for row in csv.DictReader(stream, strict=True)}
    # Python's reader, like that of pandas, does not distinguish NULL from the empty text.
    assert {name: row["note"] for name, row in found.items()} == {name: text or "" for name, text in TEXTS.items()}
    assert {(row["amount"], row["ok"]) for row in found.values()} == {("-0.10", "")}
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert dict(zip(frame["id"], frame["note"], strict=True)) == {name: text or "" for name, text in TEXTS.items()}
    # DuckDB takes quoted empty texts for NULL unless it is told otherwise.
    options = "header = true, all_varchar = true, parallel = false, allow_quoted_nulls = false"
    query = f"SELECT id, note FROM read_csv('{file}', {options})"
    assert dict(duckdb.sql(query).fetchall()) == TEXTS


def test_csv_distinguishes_null_from_the_empty_text(spark: SparkSession, tmp_path: Path) -> None:
    lines = write(spark, tmp_path / "out", "csv").read_text("utf-8").splitlines()
    assert lines[0] == "id,note,amount,ok"
    assert "null,,-0.10," in lines
    assert 'empty,"",-0.10,' in lines


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_texts_are_read_back_exactly_by_ourselves(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    file = write(spark, tmp_path / "out", kind)
    columns = [(column.name, column.type) for column in COLUMNS]
    location = files(file, kind, options={"multiLine": "true"} if kind == "csv" else {})
    rows = run(spark, start(columns, location).output("id", "note", "ok")).rows(10)
    assert {row[0]: row[1] for row in rows} == TEXTS
    assert {row[2] for row in rows} == {None}


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_timestamps_keep_their_microseconds(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    columns = (Column("id", "string"), Column("at", "timestamp"))
    output = make_output(tmp_path / "out", columns=columns)
    output = replace(output, destination=replace(output.destination, format=kind))
    frame = spark.sql("SELECT 'a' id, TIMESTAMP '2026-01-31 23:59:59.123456' at").coalesce(1)
    publish(spark, make_snapshot([output]), 1, [frame])
    (file,) = (tmp_path / "out" / "period=2026-01").iterdir()
    assert "2026-01-31T23:59:59.123456Z" in file.read_text("utf-8")
    location = files(file, kind)
    plan = start([("id", "string"), ("at", "timestamp")], location).output("id", "at")
    assert run(spark, plan).rows(10) == [("a", datetime(2026, 1, 31, 23, 59, 59, 123456))]


def test_csv_has_decimals_without_exponents_and_quotes(spark: SparkSession, tmp_path: Path) -> None:
    kinds = {"id": "string", "a.`b": "decimal(38,18)", "d": "decimal(18,2)", "n": "bigint"}
    columns = tuple(Column(name, kind) for name, kind in kinds.items())
    output = make_output(tmp_path / "out", columns=columns)
    output = replace(output, destination=replace(output.destination, format="csv"))
    rows = "SELECT * FROM VALUES ('a', 1E-7BD, -0.10BD, 7L), ('b', NULL, NULL, NULL), ('c', 0BD, 1E15BD, 0L)"
    frame = spark.sql(rows).toDF(*kinds).coalesce(1)
    frame = frame.selectExpr(
        *(f"CAST({quote_name(name)} AS {kind}) {quote_name(name)}" for name, kind in kinds.items())
    )
    publish(spark, make_snapshot([output]), 1, [frame])
    (file,) = (tmp_path / "out" / "period=2026-01").iterdir()
    assert file.read_text("utf-8").splitlines() == [
        "id,a.`b,d,n", "a,0.000000100000000000,-0.10,7", "b,,,", "c,0.000000000000000000,1000000000000000.00,0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "options"), [("csv", {"Header": "yes"}), ("csv", {"quote": "ab"}), ("json", {"compression": "zap"})]
)
def test_option_whose_value_makes_no_sense_is_not_worth_a_retry(
    spark: SparkSession, tmp_path: Path, kind: str, options: dict[str, str]
) -> None:
    output = make_output(tmp_path / "out", columns=COLUMNS[:1])
    output = replace(output, destination=replace(output.destination, format=kind, options=options))
    with pytest.raises(JobError, match="OUTPUT_002"):
        publish(spark, make_snapshot([output]), 1, [spark.createDataFrame([("a",)], "id string")])


def test_csv_header_may_be_left_out_in_any_spelling(spark: SparkSession, tmp_path: Path) -> None:
    output = make_output(tmp_path / "out", columns=COLUMNS[:1])
    output = replace(output, destination=replace(output.destination, format="csv", options={"HEADER": "false"}))
    publish(spark, make_snapshot([output]), 1, [spark.createDataFrame([("a",)], "id string").coalesce(1)])
    (file,) = (tmp_path / "out" / "period=2026-01").iterdir()
    assert file.read_text("utf-8") == "a\n"


def test_json_has_every_column_in_every_object(spark: SparkSession, tmp_path: Path) -> None:
    lines = write(spark, tmp_path / "out", "json").read_text("utf-8").split("\n")
    objects = [json.loads(line, parse_float=str) for line in lines if line]
    assert {tuple(item) for item in objects} == {("id", "note", "amount", "ok")}
    assert {item["id"]: item["note"] for item in objects} == TEXTS
    assert {(item["amount"], item["ok"]) for item in objects} == {("-0.10", None)}


def test_json_has_numbers_in_plain_digits(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["0.0000001000", "-0.0000000001", "0", "12345678901234567890.1234567890", None]
    columns = (Column("n", "decimal(38,10)"), Column("m", "decimal(18,2)"))
    output = make_output(tmp_path / "out", columns=columns)
    output = replace(output, destination=replace(output.destination, format="json"))
    frame = spark.createDataFrame([(text,) for text in texts], "t string").coalesce(1)
    frame = frame.selectExpr("CAST(t AS decimal(38,10)) n", "CAST(1.5 AS decimal(18,2)) m")
    publish(spark, make_snapshot([output]), 1, [frame])
    (file,) = (tmp_path / "out" / "period=2026-01").iterdir()
    lines = file.read_text("utf-8").splitlines()
    assert not [line for line in lines if "E" in line]
    found = [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in lines]
    assert [row["n"] for row in found] == [None if text is None else Decimal(text) for text in texts]
    assert all('"m":1.50' in line for line in lines)

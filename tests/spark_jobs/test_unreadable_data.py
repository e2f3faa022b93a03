"""Data that cannot be read: which code, which table, column, value and file, and what to do about it."""

from __future__ import annotations

import gzip
import re
from decimal import Decimal
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark_jobs.contract.tables import Column
from spark_jobs.errors import JobError, MarkedProblem
from spark_jobs.rows.executor import execute
from spark_jobs.rows.staging import Staging
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.sources.read_errors import find_read_failure
from tests.spark_jobs.plan_builders import Columns, PlanBuilder, files, memory, run, start, table

NOTE = [("id", "string"), ("note", "string")]


def find_problem(spark: SparkSession, plan: PlanBuilder) -> MarkedProblem:
    with pytest.raises(JobError) as caught:
        run(spark, plan)
    problem = caught.value.problems[0]
    assert "table 'w' of dataset 'in'" in problem.message
    assert problem.mark == "input"
    assert problem.hint
    return problem


def read(columns: Columns, location: dict[str, object], required: tuple[str, ...] = ()) -> PlanBuilder:
    return start(columns, location, required=required).output(*[name for name, _ in columns])


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_parquet(path: Path, **columns: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table(columns), path, version="2.6")
    return path


WRONG_VALUES = [
    ("bigint", "1.5"),
    ("bigint", "9223372036854775808"),
    ("date", "2026-02-30"),
    ("date", "99999-01-01"),
    ("decimal(5,2)", "1.005"),
    ("decimal(5,2)", "1000"),
    ("decimal(5,2)", "1e-300000000"),
    ("decimal(38,10)", "1E-999999999"),
    ("decimal(5,2)", "1e999999999"),
    ("boolean", "yes"),
    ("boolean", "1"),
    ("boolean", "t"),
    ("timestamp", "2026-02-30 00:00:00"),
    ("string", None),
    ("bigint", None),
]


@pytest.mark.parametrize("source", ["csv", "json", "memory"])
def test_every_kind_of_wrong_value_is_reported_in_the_same_way(
    spark: SparkSession, tmp_path: Path, source: str
) -> None:
    for index, (kind, value) in enumerate(WRONG_VALUES):
        path = tmp_path / f"{index}.{source}"
        if source == "memory":
            location = memory(["id", "v"], ("a", value))
        elif source == "csv":
            location = files(write(path, f"id,v\na,{value or ''}\n"), source)
        else:
            text = "null" if value is None else f'"{value}"'
            location = files(write(path, f'{{"id": "a", "v": {text}}}\n'), source)
        required = ("v",) if value is None else ()
        problem = find_problem(spark, read([("id", "string"), ("v", kind)], location, required))
        name = {"bigint": "integer"}.get(kind, kind)
        what = "NULL, where none may be" if value is None else f"value {value} cannot be read as {name}"
        where = {"memory": "", "json": f", in file:{path}", "csv": f", in file:{path}, line 2"}[source]
        assert (problem.code, problem.column) == ("DATA_003", "v")
        assert problem.message == f"table 'w' of dataset 'in', column 'v': {what}{where}"


def test_booleans_are_true_and_false_in_any_case(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "v\nTRUE\nfalse\nTrue\n")
    assert run(spark, read([("v", "boolean")], files(path, "csv"))).rows(10) == [(False,), (True,), (True,)]


def test_quoted_empty_text_is_a_null_where_none_may_be(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,v\na,""\n')
    problem = find_problem(spark, read([("id", "string"), ("v", "bigint")], files(path, "csv"), ("v",)))
    assert problem.code == "DATA_003"


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_number_beyond_64_bits_is_an_error(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    spark.sql("SELECT CAST(18446744073709551615 AS decimal(20,0)) AS n").write.format(format_).save(str(tmp_path / "p"))
    problem = find_problem(spark, read([("n", "bigint")], files(tmp_path / "p", format_)))
    assert (problem.code, problem.column) == ("DATA_003", "n")
    assert "column 'n': value 18446744073709551615 cannot be read as integer" in problem.message


def test_numbers_at_the_ends_of_64_bits_are_read(spark: SparkSession, tmp_path: Path) -> None:
    ends = [-(2**63), 2**63 - 1]
    write_parquet(tmp_path / "p.parquet", n=pyarrow.array(map(Decimal, ends), pyarrow.decimal128(20, 0)))
    assert run(spark, read([("n", "bigint")], files(tmp_path / "p.parquet"))).rows(10) == [(n,) for n in ends]


def test_text_in_another_encoding(spark: SparkSession, tmp_path: Path) -> None:
    latin = write(tmp_path / "a.csv", "id,note\na,Müller\n".encode("latin-1"))
    problem = find_problem(spark, read(NOTE, files(latin, "csv")))
    assert (problem.code, problem.column) == ("DATA_003", "note")
    assert "M\ufffdller" in problem.message
    assert str(latin) in problem.message
    assert "encoding" in str(problem.hint)
    for encoding in ("ISO-8859-1", "windows-1252"):
        told = files(latin, "csv", options={"encoding": encoding})
        assert run(spark, read(NOTE, told)).rows(10) == [("a", "Müller")]
    assert run(spark, read([("id", "string")], files(latin, "csv"))).rows(10) == [("a",)]


def test_option_that_spark_refuses(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,note\na,b\n")
    problem = find_problem(spark, read(NOTE, files(path, "csv", options={"encoding": "no such thing"})))
    assert problem.code == "DATA_001"
    assert "no such thing" in problem.message


@pytest.mark.parametrize("option", [{"header": "yes"}, {"quote": "ab"}, {"maxColumns": "-1"}])
def test_option_whose_value_makes_no_sense(spark: SparkSession, tmp_path: Path, option: dict[str, str]) -> None:
    path = write(tmp_path / "in.csv", "id,note\na,b\n")
    problem = find_problem(spark, read(NOTE, files(path, "csv", options=option)))
    assert problem.code == "DATA_001"
    assert "options of its datasource" in str(problem.hint)


def test_json_in_another_encoding(spark: SparkSession, tmp_path: Path) -> None:
    latin = write(tmp_path / "a.json", '{"id": "a", "note": "Müller"}\n'.encode("latin-1"))
    problem = find_problem(spark, read(NOTE, files(latin, "json")))
    assert problem.code == "DATA_003"
    assert str(latin) in problem.message
    assert "encoding" in str(problem.hint)
    told = files(latin, "json", options={"encoding": "ISO-8859-1"})
    assert run(spark, read(NOTE, told)).rows(10) == [("a", "Müller")]


def test_replacement_character_that_parquet_holds_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    write_parquet(tmp_path / "p.parquet", id=["\ufffd"])
    assert run(spark, read([("id", "string")], files(tmp_path / "p.parquet"))).rows(10) == [("\ufffd",)]


@pytest.mark.parametrize(
    ("name", "content", "code", "reason"),
    [
        ("ragged.csv", "id,note\na,1\nb\n", "DATA_003", "malformed record: b"),
        ("ragged.csv", "id,note\na,1\nb,2,3\n", "DATA_003", "malformed record: b,2,3"),
        ("break.csv", 'id,note\na,"1\n2"\n', "DATA_003", "malformed record"),
        ("inch.csv", 'id,note\na,"5" pipe"\n', "DATA_003", "quotes are not closed or not doubled at: 5"),
        ("empty.csv", "", "DATA_002", "columns 'id', 'note' are missing; the data have no columns"),
        ("broken.json", "{oops\n", "DATA_003", "malformed record: Unexpected character"),
        ("half.csv.gz", gzip.compress(b"id,note\n" + b"a,1\n" * 99, mtime=0)[:-12], "DATA_001", "incomplete"),
        ("text.parquet", "no parquet at all", "DATA_001", "incomplete or of another format"),
        ("text.orc", "no orc at all, either", "DATA_001", "incomplete or of another format"),
    ],
)
def test_file_that_is_not_what_it_should_be(
    spark: SparkSession, tmp_path: Path, name: str, content: str | bytes, code: str, reason: str
) -> None:
    path = write(tmp_path / name, content)
    problem = find_problem(spark, read(NOTE, files(path, name.split(".")[1])))
    assert problem.code == code
    assert reason in problem.message
    assert str(path) in problem.message


def test_quote_that_is_closed_by_another_value(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,note,x\na,1,1\nb,"open,2\nc,"q",3\nd,4,4\n')
    problem = find_problem(spark, read(NOTE, files(path, "csv", options={"multiLine": "true"})))
    assert problem.code == "DATA_003"
    assert "quotes are not closed" in problem.message


def test_headers_that_differ_within_a_location(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "c" / "1.csv", "id,note\na,1\n")
    write(tmp_path / "c" / "2.csv", "note,id\n1,a\n")
    problem = find_problem(spark, read(NOTE, files(tmp_path / "c", "csv")))
    assert problem.code == "DATA_002"
    assert re.search("expected (id, found note|note, found id)", problem.message)


def test_parquet_file_that_was_cut(spark: SparkSession, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "p" / "b.parquet", id=["a"] * 100, note=["b"] * 100)
    write_parquet(tmp_path / "p" / "a.parquet", id=["a"], note=["b"])
    path.write_bytes(path.read_bytes()[:-20])
    problem = find_problem(spark, read(NOTE, files(tmp_path / "p")))
    assert problem.code == "DATA_001"
    assert str(path) in problem.message


@pytest.mark.parametrize("format_", ["parquet", "orc", "csv", "json"])
def test_no_option_leaves_out_a_file_that_is_damaged(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    frame = spark.createDataFrame([("a" * 99, "b")] * 99, "id string, note string").coalesce(1)
    options = {"compression": "gzip"} if format_ in ("csv", "json") else {}
    for _ in range(2):
        frame.write.mode("append").options(header="true", **options).format(format_).save(str(tmp_path / "p"))
    path = next((tmp_path / "p").glob("part-*"))
    # Hadoop's own checksums of local files would be asked first.
    (path.parent / f".{path.name}.crc").unlink()
    path.write_bytes(path.read_bytes()[:-30])
    loose = {"ignoreCorruptFiles": "true", "IgnoreMissingFiles": "true"}
    problem = find_problem(spark, read(NOTE, files(tmp_path / "p", format_, options=loose)))
    assert problem.code == "DATA_001"


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("enforceSchema=true", "note,id\nb,a\n"),
        ("columnPruning=true", "id,note\na\n"),
        ("unescapedQuoteHandling=SKIP_VALUE", 'id,note\na,"b"c\n'),
    ],
)
def test_no_option_mixes_up_or_leaves_out_values_of_csv(
    spark: SparkSession, tmp_path: Path, option: str, content: str
) -> None:
    write(tmp_path / "c" / "1.csv", "id,note\na,b\n")
    write(tmp_path / "c" / "2.csv", content)
    name, value = option.split("=")
    location = files(tmp_path / "c", "csv", options={name: value})
    problem = find_problem(spark, start(NOTE, location).output("id"))
    assert problem.code in ("DATA_002", "DATA_003")


def test_parquet_file_that_is_damaged_inside(spark: SparkSession, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "p.parquet", id=["a"] * 1000, note=["b"] * 1000)
    content = bytearray(path.read_bytes())
    content[20:60] = b"x" * 40
    path.write_bytes(content)
    problem = find_problem(spark, read(NOTE, files(path)))
    assert problem.code == "DATA_001"
    assert str(path) in problem.message


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize("writer", ["spark", "pyarrow"])
def test_parquet_file_in_which_a_bit_has_turned(
    spark: SparkSession, tmp_path: Path, writer: str, vectorized: str
) -> None:
    numbers = [1_000_000 + index for index in range(200)]
    if writer == "spark":
        plain = {"compression": "uncompressed", "parquet.enable.dictionary": "false"}
        frame = spark.createDataFrame([(number,) for number in numbers], "n bigint").coalesce(1)
        frame.write.options(**plain).parquet(str(tmp_path / "p"))
        (path,) = (tmp_path / "p").glob("part-*")
        (tmp_path / "p" / f".{path.name}.crc").unlink()
    else:
        path = tmp_path / "p" / "a.parquet"
        path.parent.mkdir()
        plain = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
        pyarrow.parquet.write_table(pyarrow.table({"n": numbers}), path, **plain)
    wanted = [("n", "bigint")]
    told = files(tmp_path / "p", options={"parquet.page.verify-checksum.enabled": "false"})
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    try:
        assert len(run(spark, read(wanted, told)).rows(10)) == len(numbers)
        content = bytearray(path.read_bytes())
        content[content.index((1_000_100).to_bytes(8, "little"))] ^= 0x80
        path.write_bytes(content)
        problem = find_problem(spark, read(wanted, told))
        with pytest.raises(Py4JJavaError, match="FAILED_READ_FILE"):
            # What a run materialises for itself is looked at in the same way.
            Staging(spark, MemorySinks(), is_small=False)._read(str(tmp_path / "p"), [Column("n", "bigint")]).collect()
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    assert problem.code == "DATA_001"
    assert str(path) in problem.message
    assert "damaged" in problem.message


def test_file_that_goes_away_while_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "p" / "a.parquet", id=["a"], note=["b"])

    class Sinks(MemorySinks):
        def stage(self, output, frame):  # type: ignore[no-untyped-def]
            path.unlink()
            return super().stage(output, frame)

    with pytest.raises(JobError, match=r"DATA_001: table 'w' .*a\.parquet cannot be read: a file is gone"):
        execute(spark, read(NOTE, files(tmp_path / "p")).snapshot(), Sinks())


def test_timestamps_of_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    moments = pyarrow.array([1767225600000000001], pyarrow.timestamp("ns"))
    path = write_parquet(tmp_path / "p.parquet", id=["a"], at=moments)
    problem = find_problem(spark, read([("id", "string"), ("at", "timestamp")], files(path)))
    assert (problem.code, problem.column) == ("DATA_002", "at")
    assert "column 'at'" in problem.message
    assert "microseconds" in str(problem.hint)
    assert run(spark, read([("id", "string")], files(path))).rows(10) == [("a",)]
    assert spark.conf.get("spark.sql.legacy.parquet.nanosAsLong") == "false"


def test_types_that_differ_within_a_location(spark: SparkSession, tmp_path: Path) -> None:
    write_parquet(tmp_path / "p" / "a.parquet", id=["a"])
    path = write_parquet(tmp_path / "p" / "b.parquet", id=[1])
    problem = find_problem(spark, read([("id", "string")], files(tmp_path / "p")))
    assert problem.code == "DATA_002"
    assert f"{path} cannot be read: column [id] is INT64, in other files string" in problem.message


def test_damage_of_an_appended_table_is_an_append_error(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", "none")
    plan = start([("id", "string")], memory(["id"], ("a",)))
    plan.tables["b"] = table([("id", "string")], files(path), role="append")
    with pytest.raises(JobError, match="APPEND_008"):
        run(spark, plan.append("b", ("id", "string", "`@w`.`id`")).output("id"))


def test_sql_state_is_not_shown() -> None:
    failure = find_read_failure("[MALFORMED_CSV_RECORD] Malformed CSV record: a,1,2 SQLSTATE: KD000\nat Scan")
    assert failure is not None
    assert failure.reason == "malformed record: a,1,2"


def test_file_that_may_not_be_read_is_not_taken_for_gone() -> None:
    failure = find_read_failure(
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///b/x.csv. \n"
        "Caused by: java.io.FileNotFoundException: /b/x.csv (Permission denied)"
    )
    assert failure is not None
    assert (failure.code, failure.reason, failure.file) == ("DATA_001", "permission denied", "file:///b/x.csv")


@pytest.mark.parametrize(
    "text",
    [
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/x.parquet. \n"
        "Caused by: java.net.SocketTimeoutException: Read timed out",
        "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Could not read footer\nCaused by: AccessDenied",
    ],
)
def test_store_that_cannot_be_reached_is_not_an_error_of_the_data(text: str) -> None:
    assert find_read_failure(text) is None


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (pyarrow.array([1], pyarrow.time32("ms")), "TIME(MILLIS,false)"),
        (pyarrow.array([1], pyarrow.time64("us")), "TIME(MICROS,false)"),
        (pyarrow.array([numpy.float16(1.5)], pyarrow.float16()), "FLOAT16"),
        (pyarrow.array([Decimal("1.5")], pyarrow.decimal256(60, 2)), "DECIMAL(60,2)"),
    ],
)
def test_type_that_spark_does_not_have(spark: SparkSession, tmp_path: Path, column: pyarrow.Array, type_: str) -> None:
    write_parquet(tmp_path / "p" / "period=2026-01" / "a.parquet", id=["a"], odd=column, n=[7])
    declared = [("id", "string"), ("n", "bigint")]
    assert run(spark, read(declared, files(tmp_path / "p"))).rows(10) == [("a", 7)]
    problem = find_problem(spark, read([*declared, ("odd", "string")], files(tmp_path / "p")))
    assert (problem.code, problem.column) == ("DATA_002", "odd")
    assert f"column 'odd' at {tmp_path}/p: is of the type {type_}, which cannot be read" in problem.message


def test_encoding_that_spark_cannot_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    data = pyarrow.table({"id": ["a"], "n": [7]})
    pyarrow.parquet.write_table(data, path, use_dictionary=False, column_encoding={"n": "BYTE_STREAM_SPLIT"})
    problem = find_problem(spark, read([("id", "string"), ("n", "bigint")], files(path)))
    assert problem.code == "DATA_002"
    assert problem.message.endswith(
        "a.parquet cannot be read: a column is in the encoding BYTE_STREAM_SPLIT, which Spark cannot read exactly"
    )


def test_codec_that_spark_does_not_have_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"]}), path, compression="brotli")
    problem = find_problem(spark, read([("id", "string")], files(path)))
    assert problem.code == "DATA_002"
    assert "it is compressed with Brotli, for which Spark has no codec here" in problem.message


@pytest.mark.parametrize(
    ("type_", "value", "options"),
    [
        ("date", "0000-01-31", {}),
        ("date", "0000-01-31", {"dateFormat": "yyyy-MM-dd"}),
        ("date", "+12026-01-31", {"dateFormat": "yyyyyy-MM-dd"}),
        ("timestamp", "0000-12-31T23:59:59Z", {}),
        ("timestamp", "0001-01-01T00:00:00+01:00", {}),
        ("timestamp", "9999-12-31T23:59:59-01:00", {}),
    ],
)
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_years_before_1_and_after_9999(
    spark: SparkSession, tmp_path: Path, type_: str, value: str, options: dict[str, str], format_: str
) -> None:
    content = f"id,v\nx,\ny,{value}\n" if format_ == "csv" else f'{{"v": "{value}"}}\n'
    path = write(tmp_path / f"a.{format_}", content)
    problem = find_problem(spark, read([("v", type_)], files(path, format_, options=options)))
    assert problem.code == "DATA_003"
    assert f"value {value} cannot be read as {type_}" in problem.message
    assert format_ == "json" or problem.message.endswith(", line 3")


def test_first_and_last_day_are_read(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "v,t\n0001-01-01,0001-01-01T00:00:00Z\n9999-12-31,9999-12-31T23:59:59.999999Z\n")
    plan = start([("v", "date"), ("t", "timestamp")], files(path, "csv"))
    plan.update(("s", "string", "CAST(`@w`.`t` AS string)")).output("v", "s")
    found = [(day.year, text) for day, text in run(spark, plan).rows(20)]
    assert found == [(1, "0001-01-01 00:00:00"), (9999, "9999-12-31 23:59:59.999999")]


def test_columns_that_a_file_does_not_have_are_all_named_with_those_it_has(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,Amount,booked\na,1,x\n")
    columns = [("id", "string"), ("amount", "bigint"), ("day", "date")]
    problem = find_problem(spark, read(columns, files(path, "csv")))
    assert problem.code == "DATA_002"
    assert problem.message.endswith("columns 'amount', 'day' are missing; the data have 'id', 'Amount', 'booked'")
    assert problem.hint == "write the name exactly as it is there, 'Amount': case and blanks count"


@pytest.mark.parametrize(("sign", "shown"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_columns_that_another_delimiter_separates(spark: SparkSession, tmp_path: Path, sign: str, shown: str) -> None:
    path = write(tmp_path / "a.csv", f"id{sign}note\na{sign}b\n")
    problem = find_problem(spark, read(NOTE, files(path, "csv")))
    assert problem.code == "DATA_002"
    assert problem.hint is not None
    assert problem.hint.endswith(f'set the datasource option `delimiter: "{shown}"`')


def test_line_of_a_value_counts_line_breaks_inside_of_values(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a b.csv", 'n,note\n1,"two\nlines"\n2,7x\n7x,9\n')
    problem = find_problem(
        spark, read([("n", "bigint"), ("note", "string")], files(path, "csv", options={"multiLine": "true"}))
    )
    assert problem.message.endswith(
        f"value 7x cannot be read as integer, in file:{str(path).replace(' ', '%20')}, line 5"
    )

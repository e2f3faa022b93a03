from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.operations import Destination
from spark_jobs.errors import JobError
from spark_jobs.sinks import attempts
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.storage import LocalStorage
from tests.spark_jobs.publishing import make_output, make_rows, make_slice, make_snapshot, publish, read_names, stage

pytestmark = pytest.mark.spark

PARTS = pytest.mark.parametrize("parts", [1, 3])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "fx"


@PARTS
def test_publish_second_period_leaves_first_alone(spark: SparkSession, table: Path, parts: int) -> None:
    january, february = make_snapshot([make_output(table)]), make_snapshot([make_output(table)], period="2026-02")
    publish(spark, january, 1, [make_rows(spark, ["a", "b", "c"], parts=parts)])
    before = list_files(table)
    publish(spark, february, 1, [make_rows(spark, ["d"], period="2026-02")])
    assert read_names(spark, table) == ["a", "b", "c", "d"]
    assert [path for path in list_files(table) if "2026-01" in path] == before


@PARTS
def test_publish_same_period_again_replaces_its_rows(spark: SparkSession, table: Path, parts: int) -> None:
    publish(spark, make_snapshot([make_output(table)]), 1, [make_rows(spark, ["a", "b", "c"], parts=parts)])
    other = make_snapshot([make_output(table)], sha256="b" * 64)
    publish(spark, other, 2, [make_rows(spark, ["d", "e"], parts=parts)])
    assert read_names(spark, table) == ["d", "e"]


def test_publish_empty_result_empties_period_and_keeps_schema(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a", "b"], parts=2)])
    (report,) = publish(spark, snapshot, 2, [make_rows(spark, ["a"]).where("id < 0")])
    assert report.rows == 0
    found = pq.read_table(next((table / "period=2026-01").glob("*.parquet")))
    assert (found.num_rows, found.column_names) == (0, ["id", "name", "amount", "_period"])


def test_publish_leaves_only_period_folders_for_any_reader(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a", "b", "c"], parts=3)])
    publish(spark, snapshot, 2, [make_rows(spark, ["x", "y"], parts=2)])
    publish(
        spark, make_snapshot([make_output(table)], period="2026-02"), 1, [make_rows(spark, ["z"], period="2026-02")]
    )
    assert sorted(os.listdir(table)) == ["period=2026-01", "period=2026-02"]
    assert all(name.endswith(".parquet") for folder in table.iterdir() for name in os.listdir(folder))
    assert sorted(pd.read_parquet(table)["name"]) == ["x", "y", "z"]
    assert sorted(pyarrow.dataset.dataset(table, partitioning="hive").to_table()["name"].to_pylist()) == ["x", "y", "z"]
    assert sorted(name for (name,) in duckdb.sql(f"SELECT name FROM '{table}/**/*.parquet'").fetchall()) == [
        "x",
        "y",
        "z",
    ]
    everything = duckdb.sql(f"SELECT name FROM '{table.parent}/**/*.parquet'").fetchall()
    assert sorted(name for (name,) in everything) == ["x", "y", "z"]
    assert read_names(spark, table) == ["x", "y", "z"]


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_reader_that_listed_before_a_publish_sees_the_old_rows_or_an_error(
    spark: SparkSession, table: Path, format_name: str
) -> None:
    """Spark remembers how long a file was: read under the same name, a longer one would end there."""
    output = make_output(table, destination=Destination("files", format_name, "lake/fx", uri=f"file://{table}"))
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    reader = spark.read.format(format_name).option("header", "true").load(str(table))
    publish(spark, make_snapshot([output]), 2, [make_rows(spark, [f"new {number}" for number in range(5000)])])
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|FileNotFound"):
        reader.collect()


def test_publish_over_file_with_checksum_of_someone_else_stays_readable(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a"])])
    (file,) = (table / "period=2026-01").iterdir()
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    publish(spark, snapshot, 2, [make_rows(spark, ["b", "c"])])
    assert read_names(spark, table) == ["b", "c"]


@PARTS
def test_publish_of_equal_rows_again_touches_nothing(spark: SparkSession, table: Path, parts: int) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 1, [make_rows(spark, ["a", "b", "c"], parts=parts)])
    before = describe_files(table)
    (report,) = publish(spark, snapshot, 2, [make_rows(spark, ["a", "b", "c"], parts=parts)])
    assert report.rows == 3
    assert describe_files(table) == before


@PARTS
def test_overwrite_replaces_the_whole_table(spark: SparkSession, table: Path, parts: int) -> None:
    publish(spark, make_snapshot([make_output(table)]), 1, [make_rows(spark, ["a"])])
    overwrite = make_output(table, write_mode="overwrite")
    rows = make_rows(spark, ["b", "c", "d"], period="2026-02", parts=parts)
    publish(spark, make_snapshot([overwrite], period="2026-02"), 1, [rows])
    assert os.listdir(table) == ["period=2026-02"]
    publish(spark, make_snapshot([overwrite], period="2026-02"), 2, [make_rows(spark, ["e"], period="2026-02")])
    assert read_names(spark, table) == ["e"]


def test_publish_of_several_calls_adds_rows_up(spark: SparkSession, table: Path) -> None:
    output = make_output(table)
    publication = Publication(spark, make_snapshot([output]), 1)
    publication.begin()
    staged = [publication.stage(output, make_rows(spark, names)) for names in (["a", "b"], [], ["c"])]
    assert [part.rows for part in staged] == [2, 0, 1]
    assert staged[0].uri is not None
    assert read_names(spark, staged[0].uri) == ["a", "b", "c"]
    (report,) = publication.publish()
    assert (report.rows, read_names(spark, table)) == (3, ["a", "b", "c"])
    assert len(list_files(table)) == 2


@pytest.mark.parametrize("name", ["it's 100% #1 [x]{y} *", "Größe\u202e", "a?b;c"])
def test_publish_to_folder_with_hostile_name_stays_there(spark: SparkSession, tmp_path: Path, name: str) -> None:
    uri = f"file://{tmp_path}/{name}"
    publish(spark, make_snapshot([make_output(uri)]), 1, [make_rows(spark, ["a"])])
    assert [file.suffix for file in (tmp_path / name / "period=2026-01").iterdir()] == [".parquet"]
    assert sorted(os.listdir(tmp_path)) == sorted([name, f".{name}.runtime"])


@pytest.mark.parametrize("format_name", ["csv", "json", "orc"])
def test_publish_in_other_format_is_read_back(spark: SparkSession, table: Path, format_name: str) -> None:
    destination = Destination("files", format_name, "lake/fx", uri=f"file://{table}")
    output = make_output(table, destination=destination)
    for attempt, names in enumerate((["a", "b"], ["c"]), start=1):
        (report,) = publish(spark, make_snapshot([output]), attempt, [make_rows(spark, names)])
        assert report.rows == len(names)
    options = {"header": "true"} if format_name == "csv" else {}
    assert [row["name"] for row in spark.read.options(**options).format(format_name).load(str(table)).collect()] == [
        "c"
    ]


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_registered_output_is_kept_as_a_slice_too(spark: SparkSession, tmp_path: Path, format_name: str) -> None:
    uri = tmp_path / "fx"
    destination = Destination("files", format_name, "lake/fx", uri=f"file://{uri}")
    output = make_output(uri, destination=destination, slice=make_slice(tmp_path / "[slices]" / "fx"))
    (first,) = publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["a", "b"], parts=2)])
    (second,) = publish(spark, make_snapshot([output]), 2, [make_rows(spark, ["c"])])
    assert first.slice is not None
    assert second.slice is not None
    assert (first.slice.rows, read_names(spark, escape_pattern(first.slice.uri))) == (2, ["a", "b"])
    assert (second.slice.rows, read_names(spark, escape_pattern(second.slice.uri))) == (1, ["c"])
    assert Path(first.slice.uri).parent == tmp_path / "[slices]" / "fx" / "2026-01"
    assert not [name for name in os.listdir(Path(first.slice.uri).parent) if name.startswith(".")]
    assert first.registered_dataset == "fx_results"


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_slice_of_the_same_rows_has_the_same_content(spark: SparkSession, tmp_path: Path, format_name: str) -> None:
    uri = tmp_path / "fx"
    destination = Destination("files", format_name, "lake/fx", uri=f"file://{uri}")
    output = make_output(uri, destination=destination, slice=make_slice(tmp_path / "slices" / "fx"))
    contents = []
    for attempt, names in enumerate((["a", "b"], ["a", "b"], ["a", "c"], ["a", None]), start=1):
        (report,) = publish(spark, make_snapshot([output]), attempt, [make_rows(spark, names, parts=2)])
        assert report.slice is not None
        assert report.slice.content is not None
        contents.append(report.slice.content)
    assert contents[0] == contents[1]
    assert len(set(contents)) == 3


def test_publish_with_smaller_token_is_refused_before_it_computes(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 7, [make_rows(spark, ["a"])])
    with pytest.raises(JobError) as refused:
        Publication(spark, snapshot, 6).begin()
    assert refused.value.code == "RUN_002"
    assert refused.value.mark == "output:50"
    assert read_names(spark, table) == ["a"]


@PARTS
def test_zombie_staged_before_newer_attempt_began_publishes_nothing(
    spark: SparkSession, table: Path, parts: int
) -> None:
    snapshot = make_snapshot([make_output(table)])
    publish(spark, snapshot, 1, [make_rows(spark, ["old"], parts=parts)])
    zombie = Publication(spark, snapshot, 2)
    zombie.begin()
    stage(zombie, snapshot, [make_rows(spark, ["zombie"], parts=parts)])
    newer = Publication(spark, snapshot, 3)
    newer.begin()
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish()
    assert read_names(spark, table) == ["old"]
    stage(newer, snapshot, [make_rows(spark, ["new"], parts=parts)])
    newer.publish()
    zombie.abandon()
    assert read_names(spark, table) == ["new"]


def test_zombie_that_stages_after_newer_attempt_published_is_refused(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table)])
    zombie = Publication(spark, snapshot, 2)
    zombie.begin()
    publish(spark, snapshot, 3, [make_rows(spark, ["new"])])
    stage(zombie, snapshot, [make_rows(spark, ["zombie"])])
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish()
    assert read_names(spark, table) == ["new"]


def test_crash_between_two_outputs_is_completed_by_the_retry(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = [make_output(tmp_path / "one", seq=50), make_output(tmp_path / "two", seq=60)]
    old, new = make_snapshot(outputs), make_snapshot(outputs, sha256="b" * 64)
    publish(spark, old, 1, [make_rows(spark, ["a"]), make_rows(spark, ["b"])])
    crashed = Publication(spark, new, 2)
    crashed.begin()
    stage(crashed, new, [make_rows(spark, ["A"]), make_rows(spark, ["B"])])

    exchange = LocalStorage.exchange

    def crash(self: LocalStorage, first: str, second: str) -> bool:
        if "/two/" in second:
            raise KeyboardInterrupt
        return exchange(self, first, second)

    monkeypatch.setattr(LocalStorage, "exchange", crash)
    with pytest.raises(KeyboardInterrupt):
        crashed.publish()
    monkeypatch.undo()
    assert (read_names(spark, tmp_path / "one"), read_names(spark, tmp_path / "two")) == (["A"], ["b"])
    first = describe_files(tmp_path / "one")
    publish(spark, new, 3, [make_rows(spark, ["A"]), make_rows(spark, ["B"])])
    assert describe_files(tmp_path / "one") == first
    assert read_names(spark, tmp_path / "two") == ["B"]


def test_failed_run_leaves_no_staged_files(spark: SparkSession, table: Path) -> None:
    snapshot = make_snapshot([make_output(table, slice=make_slice(table.parent / "slices"))])
    failed = Publication(spark, snapshot, 1)
    failed.begin()
    stage(failed, snapshot, [make_rows(spark, ["a"])])
    scratch = failed.scratch("rows")
    assert scratch is not None
    make_rows(spark, ["a"]).write.parquet(scratch)
    failed.abandon()
    assert [path for path in table.parent.rglob("*") if path.is_file()] == []


def test_retired_files_are_hidden_from_globs_and_swept_when_old(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = make_snapshot([make_output(table)])
    for attempt, names in enumerate(("abcdefgh", "ijklmnop"), start=1):
        publish(spark, snapshot, attempt, [make_rows(spark, names, parts=2)])
    retired = table.parent / ".fx.runtime" / "retired"
    kept = [path for path in retired.rglob("*") if path.is_file()]
    assert kept
    assert all(path.name.endswith(".retired") for path in kept)
    monkeypatch.setattr(attempts, "RETIRED_SECONDS", -1.0)
    publish(spark, snapshot, 3, [make_rows(spark, "qrstuvwx", parts=2)])
    assert [path for path in retired.rglob("*") if path.is_file()] == []


def test_unwritable_destination_is_reported_as_output_003(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JobError) as refused:
        Publication(spark, make_snapshot([make_output(tmp_path / "file" / "fx")]), 1).begin()
    assert (refused.value.code, refused.value.mark, refused.value.exit_code) == ("OUTPUT_003", "output:50", 12)


def test_table_that_takes_no_folder_keeps_the_outputs_before_it_back(spark: SparkSession, tmp_path: Path) -> None:
    outputs = [make_output(tmp_path / "one", seq=50), make_output(tmp_path / "two", seq=60)]
    publish(spark, make_snapshot(outputs[:1]), 1, [make_rows(spark, ["old"])])
    (tmp_path / "two").write_text("no folder")
    snapshot = make_snapshot(outputs, sha256="b" * 64)
    publication = Publication(spark, snapshot, 2)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["new"]), make_rows(spark, ["new"])])
    with pytest.raises(JobError, match=r"OUTPUT_003.*two"):
        publication.publish()
    assert not publication.begun
    assert read_names(spark, tmp_path / "one") == ["old"]


def test_rehearsal_leaves_nothing_in_the_table(spark: SparkSession, tmp_path: Path) -> None:
    snapshot = make_snapshot([make_output(tmp_path / "one", seq=50), make_output(tmp_path / "two", seq=60)])
    for attempt in (1, 2):
        publish(spark, snapshot, attempt, [make_rows(spark, ["a"]), make_rows(spark, ["b"])])
    assert os.listdir(tmp_path / "two") == ["period=2026-01"]


def test_staging_folder_that_becomes_unwritable_is_reported_as_output_003(spark: SparkSession, table: Path) -> None:
    output = make_output(table)
    publication = Publication(spark, make_snapshot([output]), 1)
    publication.begin()
    staging = next((table.parent / ".fx.runtime" / "staging").glob("*/*"))
    (staging / "50").write_text("in the way")
    with pytest.raises(JobError) as refused:
        publication.stage(output, make_rows(spark, ["a"]))
    assert refused.value.code == "OUTPUT_003"


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_no_option_and_no_setting_of_the_session_moves_files(
    spark: SparkSession, table: Path, format_name: str
) -> None:
    options = {"mapreduce.output.basename": f"{table.parent}/elsewhere"}
    destination = Destination("files", format_name, "lake/fx", uri=f"file://{table}", options=options)
    (report,) = publish(spark, make_snapshot([make_output(destination=destination)]), 1, [make_rows(spark, ["a"])])
    assert report.rows == 1
    assert [file.name[:5] for file in (table / "period=2026-01").iterdir()] == ["part-"]
    assert sorted(os.listdir(table.parent)) == [".fx.runtime", "fx"]


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_files_that_were_written_and_are_not_there_are_output_003(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    output = make_output(destination=Destination("files", format_name, "lake/fx", uri=f"file://{table}"))
    publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["old"])])
    before = list_files(table)
    publication = Publication(spark, make_snapshot([output]), 2)
    publication.begin()
    listed = LocalStorage.list
    monkeypatch.setattr(LocalStorage, "list", lambda self, uri: [] if uri.endswith("/50") else listed(self, uri))
    with pytest.raises(JobError, match=r"OUTPUT_003.*are not there"):
        publication.stage(output, make_rows(spark, ["new"]))
    assert list_files(table) == before


def test_failure_of_the_data_while_staging_is_not_called_a_write_failure(spark: SparkSession, table: Path) -> None:
    output = make_output(table)
    publication = Publication(spark, make_snapshot([output]), 1)
    publication.begin()
    broken = make_rows(spark, ["a"]).selectExpr(
        "id", "cast(raise_error('no such file') as string) name", "amount", "_period"
    )
    with pytest.raises(Exception, match="no such file") as failed:
        publication.stage(output, broken)
    assert not isinstance(failed.value, JobError)


def test_periods_published_at_the_same_time_do_not_fence_each_other(spark: SparkSession, table: Path) -> None:
    snapshots = [make_snapshot([make_output(table)], period=f"2026-{month:02}") for month in range(1, 5)]
    publications = [Publication(spark, snapshot, 100 - number) for number, snapshot in enumerate(snapshots)]
    for publication in publications:
        publication.begin()
    for publication, snapshot in zip(publications, snapshots, strict=True):
        stage(publication, snapshot, [make_rows(spark, [snapshot.period.identifier])])
    for publication in publications:
        publication.publish()
    assert read_names(spark, table) == ["2026-01", "2026-02", "2026-03", "2026-04"]


def test_column_named_period_is_kept_in_the_file(spark: SparkSession, table: Path) -> None:
    output = make_output(table)
    renamed = replace(
        output, columns=tuple(replace(c, name="period") if c.name == "name" else c for c in output.columns)
    )
    publish(spark, make_snapshot([renamed]), 1, [make_rows(spark, ["a"]).withColumnRenamed("name", "period")])
    found = pq.ParquetFile(next((table / "period=2026-01").glob("*.parquet"))).read()
    assert found["period"].to_pylist() == ["a"]


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def describe_files(folder: Path) -> str:
    status = {name: (folder / name).stat() for name in list_files(folder)}
    return json.dumps({name: (found[stat.ST_INO], found.st_mtime_ns) for name, found in status.items()})

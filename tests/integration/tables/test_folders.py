"""Folders of tables are neither read nor written as plain files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from tests.integration.tables.kit import TableKit, lines
from tests.spark_jobs.plan_builders import files, run, start
from tests.spark_jobs.publishing import make_output, make_rows, make_snapshot, publish

PATTERNS = ["/runtime-*/*", "/*/*/*.parquet"]


def get_folder(kit: TableKit) -> str:
    return kit.open().find_location().removeprefix("file://")


def refuse(spark: SparkSession, uri: str) -> JobError:
    with pytest.raises(JobError) as caught:
        run(spark, start([("account", "string")], files(uri)).output("account"))
    return caught.value


@pytest.mark.parametrize("pattern", PATTERNS)
def test_folder_of_a_table_is_not_read_as_files_since_it_holds_old_rows_too(
    spark: SparkSession, kit: TableKit, pattern: str
) -> None:
    kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-01", "2.00"), token=2)
    error = refuse(spark, get_folder(kit) + pattern)
    assert error.code == "SOURCE_001"
    assert f"type: {kit.format}" in str(error.hint)


@pytest.mark.parametrize("place", ["", "/_period=2026-01", "/_period=2026-01/*.parquet"])
def test_partitions_of_a_delta_table_of_others_are_not_read_as_files(
    spark: SparkSession, tmp_path: Path, place: str
) -> None:
    data = pa.table({"account": ["A"], "_period": ["2026-01"]})
    write_deltalake(str(tmp_path / "ledger"), data, partition_by=["_period"])
    assert refuse(spark, f"{tmp_path}/ledger{place}").code == "SOURCE_001"


@pytest.mark.parametrize("mode", ["replace_period", "overwrite"])
def test_folder_of_a_table_is_not_replaced_by_files(spark: SparkSession, kit: TableKit, mode: str) -> None:
    kit.publish(lines("2026-01", "1.00"))
    output = make_output(get_folder(kit), write_mode=mode)
    with pytest.raises(JobError) as caught:
        publish(spark, make_snapshot([output]), 1, [make_rows(spark, ["a"])])
    assert caught.value.code == "OUTPUT_002"
    assert f"type: {kit.format}" in str(caught.value.hint)
    assert kit.read() == lines("2026-01", "1.00")

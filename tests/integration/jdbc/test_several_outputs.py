"""Files and tables of one run: what a table refuses is known before the files are seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError
from spark_jobs.sinks.publish import Publication
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.jdbc.warehouse_tables import list_stage_tables, make_table_output, read_table
from tests.spark_jobs.publishing import make_output, make_rows, make_snapshot, publish, read_names, stage

pytestmark = [pytest.mark.spark, pytest.mark.integration]

WHOLE = "id bigint, name text, amount numeric(20,6), _period text"


@pytest.mark.parametrize(
    ("columns", "names", "period", "reason"),
    [
        ("id bigint, name text, _period text", ["a"], "2026-01", "OUTPUT_002.*no column amount"),
        (WHOLE, ["a"], "2025-12", "OUTPUT_002.*1 rows belong to another period"),
        (None, ["a"], "2025-12", "OUTPUT_002.*1 rows belong to another period"),
        (WHOLE.replace("text", "varchar(3)", 1), ["long"], "2026-01", "(OUTPUT|DATA)_003.*value too long"),
        (WHOLE.replace("text", "text UNIQUE", 1), ["a", "a"], "2026-01", "(OUTPUT|DATA)_003.*duplicate key"),
    ],
    ids=["column", "period", "period of a new table", "length", "key"],
)
def test_table_that_refuses_its_rows_keeps_the_files_before_it_back(
    spark: SparkSession,
    warehouse: Warehouse,
    tmp_path: Path,
    columns: str | None,
    names: Sequence[str],
    period: str,
    reason: str,
) -> None:
    if columns is not None:
        warehouse.connection.execute(f"CREATE TABLE fx ({columns})")  # type: ignore[arg-type]
    snapshot = make_snapshot([make_output(tmp_path / "t", seq=50), make_table_output(warehouse, seq=60)])
    publication = Publication(spark, snapshot, 1)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["new"]), make_rows(spark, names, period=period)])
    with pytest.raises(JobError, match=reason):
        publication.publish()
    assert not publication.begun
    assert not (tmp_path / "t").exists()


def test_zombie_does_not_publish_files_that_the_next_version_has_no_more(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    """Nothing at the files knows of the newer attempt, but the ledger does."""
    old = make_snapshot([make_output(tmp_path / "t", seq=50), make_table_output(warehouse, seq=60)])
    publish(spark, old, 1, [make_rows(spark, ["old"]), make_rows(spark, ["old"])])
    zombie = Publication(spark, old, 2)
    zombie.begin()
    stage(zombie, old, [make_rows(spark, ["zombie"]), make_rows(spark, ["zombie"])])
    new = make_snapshot([make_table_output(warehouse, seq=60)], sha256="b" * 64)
    publish(spark, new, 3, [make_rows(spark, ["new"])])
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish()
    assert (read_names(spark, tmp_path / "t"), read_table(warehouse)) == (["old"], ["new"])


@pytest.mark.parametrize("table_seq", [40, 60])
def test_zombie_that_is_replaced_while_the_registry_is_asked_publishes_no_files(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path, table_seq: int
) -> None:
    old = make_snapshot([make_table_output(warehouse, seq=table_seq), make_output(tmp_path / "t", seq=50)])
    new = make_snapshot([make_table_output(warehouse, seq=table_seq)], sha256="b" * 64)
    zombie = Publication(spark, old, 1)
    zombie.begin()
    stage(zombie, old, [make_rows(spark, ["zombie"]), make_rows(spark, ["zombie"])])
    with pytest.raises(JobError, match="RUN_002"):
        zombie.publish(lambda: publish(spark, new, 2, [make_rows(spark, ["new"])]) and None)
    assert not (tmp_path / "t").exists()
    assert read_table(warehouse) == ["new"]


def test_rehearsal_leaves_nothing_behind(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    snapshot = make_snapshot([make_output(tmp_path / "t", seq=50), make_table_output(warehouse, seq=60)])
    publish(spark, snapshot, 1, [make_rows(spark, ["old"]), make_rows(spark, ["old"])])

    def look() -> None:
        assert read_table(warehouse) == ["old"]

    publication = Publication(spark, snapshot, 2)
    publication.begin()
    stage(publication, snapshot, [make_rows(spark, ["new"]), make_rows(spark, ["new"])])
    reports = publication.publish(look)
    assert [report.seq for report in reports] == [50, 60]
    assert (read_names(spark, tmp_path / "t"), read_table(warehouse)) == (["new"], ["new"])
    assert list_stage_tables(warehouse) == []

"""Which folders are those of Iceberg and Delta tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from spark_jobs.spark.storage import LocalStorage
from spark_jobs.spark.table_folders import find_table_folder, list_folders


@pytest.mark.parametrize(
    ("marker", "file", "found"),
    [
        ("t/_delta_log/0.json", "t/a.parquet", ("t", "delta")),
        ("t/_delta_log/0.json", "t/y=1/m=2/a.parquet", ("t", "delta")),
        ("t/_delta_log/0.json", "t/x/y/z/a.parquet", ("t", "delta")),
        ("t/metadata/v1.metadata.json", "t/data/p=1/a.parquet", ("t", "iceberg")),
        ("t/metadata/notes.json", "t/data/p=1/a.parquet", None),
        ("other/_delta_log/0.json", "t/a.parquet", None),
    ],
)
def test_table_is_found_from_its_files(tmp_path: Path, marker: str, file: str, found: tuple[str, str] | None) -> None:
    for name in (marker, file, "plain/b.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folders = list_folders(f"file://{tmp_path}/{name}" for name in ("plain/b.parquet", file))
    expected = None if found is None else (f"file://{tmp_path}/{found[0]}", found[1])
    assert find_table_folder(LocalStorage(), folders) == expected


def test_folders_of_files_are_named_once_and_without_partitions() -> None:
    files = [f"s3a://b/t/day={day}/n=%31/a.parquet" for day in range(100)]
    assert list_folders([*files, "s3a://b/t/a.parquet", "s3a://b/u%20v/a.parquet"]) == ["s3a://b/t", "s3a://b/u v"]

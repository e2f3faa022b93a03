"""Columns that the folders between a location and a file give."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from spark_jobs.sources.folder_columns import list_folder_values


@pytest.mark.parametrize(
    ("location", "file", "values"),
    [
        ("/data/t", "file:///data/t/period=2026-01/a.parquet", {"period": "2026-01"}),
        ("file:///data/t/", "file:///data/t/y=1/m=2/a.parquet", {"y": "1", "m": "2"}),
        ("s3a://b/t", "s3a://b/t/id=a%2520b%253D/part.csv", {"id": "a b="}),
        ("/data/id=ZZ", "file:///data/id=ZZ/a.parquet", {}),
        ("/data/id=ZZ/a.parquet", "file:///data/id=ZZ/a.parquet", {}),
        ("/data/*/x", "file:///data/2026/x/k=v/a.parquet", {"k": "v"}),
        ("/data/t", "file:///data/t/a=b.parquet", {}),
        ("/data/t", "file:///data/t/plain/a.parquet", {}),
    ],
)
def test_names_of_folders_give_values(location: str, file: str, values: dict[str, str]) -> None:
    assert list_folder_values(location, file) == values

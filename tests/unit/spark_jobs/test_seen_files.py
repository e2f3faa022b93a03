"""Files as they were seen, and whether they were replaced since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.contract.fingerprints import FileState
from spark_jobs.sources.seen_files import SeenFile, find_replaced, look_again
from spark_jobs.spark.file_listing import _parse_statuses


def look(*paths: Path) -> tuple[SeenFile, ...]:
    found = look_again(None, [path.as_uri() for path in paths])  # type: ignore[arg-type]
    assert found is not None
    return found


def test_local_files_have_path_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a b%.csv"
    path.write_text("id\n", encoding="utf-8")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    (found,) = look(path)
    assert found.state == FileState(str(path), 3, 1_700_000_000_123)


@pytest.mark.parametrize("change", ["content", "time", "other file"])
def test_file_of_the_same_name_that_is_another_one(tmp_path: Path, change: str) -> None:
    kept, path = tmp_path / "kept", tmp_path / "a"
    for file in (kept, path):
        file.write_text("1", encoding="utf-8")
    before, status = look(kept, path), path.stat()
    if change == "content":
        path.write_text("12", encoding="utf-8")
    elif change == "time":
        os.utime(path, ns=(0, status.st_mtime_ns + 1))
    else:
        other = tmp_path / "b"
        other.write_text("2", encoding="utf-8")
        os.utime(other, ns=(0, status.st_mtime_ns))
        other.replace(path)
    assert find_replaced(before, look(kept, path)) == str(path)


def test_file_that_is_gone_was_read_before(tmp_path: Path) -> None:
    kept, path = tmp_path / "kept", tmp_path / "a"
    for file in (kept, path):
        file.write_text("1", encoding="utf-8")
    before = look(kept, path)
    path.unlink()
    assert find_replaced(before, look(kept, path)) is None


@pytest.mark.parametrize(("tag", "is_replaced"), [("abc", False), ("", False), ("xyz", True)])
def test_tag_counts_where_both_listings_have_it(tag: str, *, is_replaced: bool) -> None:
    state = FileState("s3a://b/k", 7, 1)
    assert (find_replaced([SeenFile(state, "abc")], [SeenFile(state, tag)]) is not None) == is_replaced


def test_what_hadoop_says_of_files() -> None:
    text = (
        "LocatedFileStatus{path=hdfs://nn:8020/t/a; b=1/x.csv; isDirectory=false; length=12; replication=3; "
        "blocksize=134217728; modification_time=1700000000123; access_time=0; owner=u; group=g; permission=rw-r--r--; "
        "isSymlink=false; hasAcl=false; isEncrypted=false; isErasureCoded=false}\n"
        "FileStatus{path=hdfs://nn:8020/t/folder; isDirectory=true; modification_time=1; access_time=0; owner=u; "
        "group=g; permission=rwx; isSymlink=false; hasAcl=false; isEncrypted=false; isErasureCoded=false}\n"
        "S3ALocatedFileStatus{path=s3a://b/k.parquet; isDirectory=false; length=7; replication=1; blocksize=33554432; "
        "modification_time=1700000000000; access_time=0; owner=me; group=me; permission=rw-rw-rw-; isSymlink=false; "
        "hasAcl=false; isEncrypted=true; isErasureCoded=false}[eTag='abc', versionId='null']"
    )
    assert _parse_statuses(text) == [
        ("hdfs://nn:8020/t/a; b=1/x.csv", 12, 1700000000123, ""),
        ("s3a://b/k.parquet", 7, 1700000000000, "abc"),
    ]

"""The file systems that Hadoop knows, tried on the local one through Hadoop."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.sinks.attempts import Attempt, StagingArea
from spark_jobs.sinks.path import FileTable
from spark_jobs.spark.hadoop_storage import HadoopStorage
from spark_jobs.spark.storage import Storage, join_uri
from tests.spark_jobs.publishing import make_output, make_rows, make_slice, make_snapshot, publish, read_names

pytestmark = pytest.mark.spark


@pytest.fixture
def storage(spark: SparkSession) -> HadoopStorage:
    return HadoopStorage(spark, "file:///")


def test_hadoop_storage_writes_whole_files_and_reads_them(storage: HadoopStorage, tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/a b%20/ü.json"
    storage.write_bytes(uri, b"one\0\xff")
    storage.write_bytes(uri, b"two\0\xff")
    assert storage.read_bytes(uri, 100) == (tmp_path / "a b%20" / "ü.json").read_bytes() == b"two\0\xff"
    assert [(entry.name, entry.size) for entry in storage.list(f"file://{tmp_path}/a b%20")][-1] == ("ü.json", 5)


def test_hadoop_storage_never_moves_into_a_folder_that_is_there(storage: HadoopStorage, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(FileExistsError):
        storage.move(f"file://{tmp_path}/one", f"file://{tmp_path}/two")
    assert (tmp_path / "one" / "file").read_text() == "one"
    with pytest.raises(FileNotFoundError):
        storage.move(f"file://{tmp_path}/none", f"file://{tmp_path}/three")


def test_hadoop_storage_of_nothing_is_empty(storage: HadoopStorage, tmp_path: Path) -> None:
    assert storage.list(f"file://{tmp_path}/none") == []
    assert not storage.exists(f"file://{tmp_path}/none")
    storage.delete(f"file://{tmp_path}/none")
    with pytest.raises(FileNotFoundError):
        storage.read_bytes(f"file://{tmp_path}/none", 100)


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("overwrite", [False, True])
def test_swap_through_hadoop_shows_the_new_files_only(
    storage: HadoopStorage, tmp_path: Path, files: int, overwrite: bool
) -> None:
    for token, text in ((1, "old"), (2, "new")):
        publish_texts(storage, tmp_path / "fx", token, text, files, overwrite)
    found = [path.read_text() for path in (tmp_path / "fx").rglob("*") if path.is_file() and path.suffix != ".crc"]
    assert found == ["new"] * files
    assert {path.parent.name for path in (tmp_path / "fx").rglob("*.txt")} == {"period=2026-01"}


def test_publication_through_hadoop_alone_replaces_and_keeps_a_slice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("spark_jobs.spark.storage", "spark_jobs.sinks.outputs", "spark_jobs.sinks.path"):
        monkeypatch.setattr(f"{module}.is_local", lambda uri: False)
    output = make_output(f"file://{tmp_path}/fx", slice=make_slice(f"file://{tmp_path}/slices"))
    for attempt, names in enumerate((["a", "b"], ["c"], ["d", "e", "f"]), start=1):
        (report,) = publish(spark, make_snapshot([output]), attempt, [make_rows(spark, names, parts=len(names))])
        assert report.slice is not None
        assert read_names(spark, tmp_path / "fx") == read_names(spark, report.slice.uri) == names


def publish_texts(storage: Storage, table: Path, token: int, text: str, files: int, overwrite: bool) -> None:
    area = StagingArea(storage, f"file://{table}", Attempt(token, "fx", "2026-01", "a" * 64))
    area.claim()
    staged = join_uri(area.folder, "50")
    for number in range(files):
        name = "part-00000.txt" if files == 1 else f"part-{number}-{token}.txt"
        storage.write_bytes(join_uri(staged, name), text.encode())
    FileTable(storage, area, f"file://{table}", "2026-01", overwrite, token).publish(staged)
    area.empty()
    area.sweep()


@pytest.mark.parametrize(("content", "length"), [(b"PAR1pagesfooter\x06\0\0\0PAR1", 9), (b"a;b\n", 4), (b"", 0)])
def test_hadoop_checksum_of_rows_ends_before_the_footer(
    storage: HadoopStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, length: int
) -> None:
    (tmp_path / "part").write_bytes(content)
    monkeypatch.setattr(storage, "_files", FilesWithChecksums(storage._files))

    assert storage.compute_digest(f"file://{tmp_path}/part", without_footer=True) == f"checksum of {length}"
    assert storage.compute_digest(f"file://{tmp_path}/part") == "checksum of all"


class FilesWithChecksums:
    """The local file system with checksums, as HDFS has them."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def getFileChecksum(self, path: Any, length: int | None = None) -> Any:
        del path
        text = f"checksum of {'all' if length is None else length}"
        return SimpleNamespace(toString=lambda: text)

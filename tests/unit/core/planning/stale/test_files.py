"""The files that planning sees are those that Spark reads, on this machine and in stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_runtime.core.planning.stale.files import Fingerprints
from airflow_provider_runtime.core.planning.stale.glob_patterns import expand_pattern
from spark_jobs.contract.tables import Location

fsspec = pytest.importorskip("fsspec")
HERE = Location(kind="files", format="csv")


@pytest.fixture
def store() -> Iterator[object]:
    system = fsspec.filesystem("memory")
    for name in ("a/one.csv", "a/two.csv", "a/_SUCCESS", "a/.one.crc", "b/year=2026/one.csv", "c/one.parquet"):
        system.pipe(f"/bucket/{name}", b"x")
    yield system
    system.rm("/bucket", recursive=True)


def list_names(location: Location) -> list[str]:
    return [found.path.rpartition("bucket/")[2] for found in Fingerprints().list_files(location) or ()]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("a/{one,two}.csv", ["a/one.csv", "a/two.csv"]),
        ("{a,b{c,d}}/*.csv", ["a/*.csv", "bc/*.csv", "bd/*.csv"]),
        (r"a\{b\}[^x]?", ["a{b}[!x]?"]),
        (r"100\*/\[x\]", ["100[*]/[[]x]"]),
    ],
)
def test_patterns_of_hadoop_are_written_out(pattern: str, matching: list[str]) -> None:
    assert expand_pattern(pattern) == matching


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a", ["a/one.csv", "a/two.csv"]),
        ("a/one.csv", ["a/one.csv"]),
        ("a/{one,three}.csv", ["a/one.csv"]),
        ("*/one.*", ["a/one.csv", "c/one.parquet"]),
        ("b", ["b/year=2026/one.csv"]),
        ("none", []),
    ],
)
@pytest.mark.parametrize("kind", ["local", "store"])
def test_files_at_a_location_are_listed(store: object, tmp_path: Path, kind: str, path: str, names: list[str]) -> None:
    assert store
    for name in ("a/one.csv", "a/two.csv", "a/_SUCCESS", "a/.one.crc", "b/year=2026/one.csv", "c/one.parquet"):
        file = tmp_path / "bucket" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    prefix = "memory://bucket" if kind == "store" else str(tmp_path / "bucket")
    assert list_names(replace(HERE, uri=f"{prefix}/{path}")) == names


def test_replaced_file_of_a_store_is_another_one(store: object) -> None:
    location = replace(HERE, uri="memory://bucket/a")
    looks = Fingerprints()
    before = looks.take([location])
    assert before == looks.take([location]) is not None
    store.pipe("/bucket/a/one.csv", b"yy")  # type: ignore[attr-defined]
    assert looks.take([location]) != before


def test_store_that_cannot_be_listed_is_unknown_and_asked_once() -> None:
    asked: list[str] = []
    looks = Fingerprints(lambda uri: asked.append(uri))
    assert looks.take([replace(HERE, uri="s3a://bucket/a")]) is None
    assert asked == ["s3a://bucket/a"]
    assert Fingerprints().take([replace(HERE, uri="nosuchscheme://bucket/a")]) is None


def test_store_with_a_credential_is_not_asked(store: object) -> None:
    assert store
    location = replace(HERE, uri="memory://bucket/a", credential_ref="env://KEY")
    assert Fingerprints().take([location]) is None

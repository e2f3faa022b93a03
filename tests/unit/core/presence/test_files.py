"""Whether there are files at a location: of this machine, and of stores that fsspec knows."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from airflow_provider_runtime.core.presence.files import LocalFiles, has_files

FILES = ["gl/2026-01.parquet", "gl/_SUCCESS", "fx/period=2026-01/part-0.parquet", "empty/_temporary/0/part-0", "a{b}/x"]
CASES = {
    "gl/2026-01.parquet": True,
    "gl/2026-02.parquet": False,
    "gl": True,
    "fx": True,
    "fx/period=2026-01": True,
    "empty": False,
    "nowhere": False,
    "gl/*.parquet": True,
    "gl/*.csv": False,
    "gl/_*": False,
    "gl/2026-{01,02}.parquet": True,
    "gl/2026-{02,03}.parquet": False,
    "{nowhere,g?}/2026-0[1-3].parquet": True,
    "gl/2026-0[^1].parquet": False,
    r"a\{b\}/x": True,
    r"a\{b\}/*": True,
    r"gl/\*.parquet": False,
}


@pytest.mark.parametrize("pattern", CASES)
def test_files_are_found_by_pattern_on_this_machine(pattern: str, tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert has_files(LocalFiles(), f"file://{tmp_path}/{pattern}") is CASES[pattern]


@pytest.mark.parametrize("pattern", CASES)
def test_files_are_found_by_pattern_in_a_store(pattern: str) -> None:
    store = fsspec.filesystem("memory")
    for name in FILES:
        store.pipe(f"/bucket/{name}", b"x")
    try:
        assert has_files(store, f"memory://bucket/{pattern}") is CASES[pattern]
    finally:
        store.rm("/bucket", recursive=True)

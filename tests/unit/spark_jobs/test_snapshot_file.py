"""The job reads a snapshot from a file, and from nothing that is not one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from spark_jobs import snapshot_file
from spark_jobs.errors import JobError
from spark_jobs.snapshot_file import read_snapshot


@pytest.mark.parametrize("name", ["pipe", "folder", "missing", "with\0nul", "/dev/zero"])
def test_what_is_not_a_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(JobError, match="SNAPSHOT_001"):
        read_snapshot(str(tmp_path / name), "0" * 64)


def test_file_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "snapshot.json"
    path.write_bytes(b"{" * 100)
    monkeypatch.setattr(snapshot_file, "MAX_SNAPSHOT_BYTES", 10)
    with pytest.raises(JobError, match=r"SNAPSHOT_001: .* it is not a snapshot"):
        read_snapshot(path.as_uri(), hashlib.sha256(b"{" * 100).hexdigest())

"""The job reads a snapshot from a file, and from nothing that is none."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from spark_jobs import snapshot
from spark_jobs.errors import JobError
from spark_jobs.snapshot import read_snapshot

NO_SPARK = Mock(spec_set=())


@pytest.mark.parametrize("name", ["pipe", "folder", "missing", "with\0nul", "/dev/zero"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(JobError, match="SNAPSHOT_001"):
        read_snapshot(NO_SPARK, str(tmp_path / name), "0" * 64)


def test_of_a_file_that_is_too_long_only_a_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "snapshot.json"
    path.write_bytes(b"{" * 100)
    monkeypatch.setattr(snapshot, "MOST_BYTES", 10)
    with pytest.raises(JobError, match=hashlib.sha256(b"{" * 10).hexdigest()):
        read_snapshot(NO_SPARK, path.as_uri(), hashlib.sha256(b"{" * 100).hexdigest())

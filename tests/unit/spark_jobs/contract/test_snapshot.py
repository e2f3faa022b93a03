"""What core resolves, the job reads: one dataclass, one document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spark_jobs.contract.snapshot import UnreadableSnapshotError, parse_snapshot, seal_snapshot
from tests.unit.core.planning.resolve_builder import MONTHLY, resolve, write_project, write_resolver


def test_snapshot_read_back_is_the_one_that_was_resolved() -> None:
    written = resolve(write_resolver(MONTHLY), write_project())
    assert parse_snapshot(written.content, written.sha256) == written


def test_snapshot_changed_by_a_byte_is_refused() -> None:
    written = resolve(write_resolver(MONTHLY), write_project())
    with pytest.raises(UnreadableSnapshotError, match="does not match its digest"):
        parse_snapshot(written.content.replace(b'"2026-01-01"', b'"2026-01-02"', 1), written.sha256)


def test_keys_of_a_later_program_are_ignored() -> None:
    written = resolve(write_resolver(MONTHLY), write_project())
    document = json.loads(written.content)
    document["plan"]["operations"][0]["not yet known"] = {"a": 1}
    later = seal_snapshot(replace(written, project_snapshot=written.project_snapshot))
    content = json.dumps(document).encode()
    import hashlib

    read = parse_snapshot(content, hashlib.sha256(content).hexdigest())
    assert read.plan == later.plan

"""What core writes, the Spark job reads: every field of the plan, and the same digest."""

from __future__ import annotations

import dataclasses

import pytest

from spark_jobs.errors import JobError
from spark_jobs.snapshot import parse_snapshot
from tests.unit.core.planning.resolve_builder import MONTHLY, resolve, write_project, write_resolver


def test_snapshot_of_core_is_read_by_the_job() -> None:
    written = resolve(write_resolver(MONTHLY), write_project())
    read = parse_snapshot(written.content, written.sha256)
    assert (read.sha256, read.run_id) == (written.sha256, written.run_id)
    assert read.period.identifier == written.period_identifier
    assert read.as_of.isoformat() == written.document["as_of"]
    assert list(read.plan.tables) == list(written.plan["tables"])
    assert [operation.seq for operation in read.plan.operations] == [10, 90]
    location = read.plan.tables["input"].locations[0]
    expected = written.plan["tables"]["input"]["locations"][0]
    for field in dataclasses.fields(location):
        if field.name in expected and isinstance(expected[field.name], str):
            assert getattr(location, field.name) == expected[field.name]


def test_snapshot_changed_by_a_byte_is_refused_by_the_job() -> None:
    written = resolve(write_resolver(MONTHLY), write_project())
    with pytest.raises(JobError) as caught:
        parse_snapshot(written.content.replace(b'"2026-01-01"', b'"2026-01-02"', 1), written.sha256)
    assert caught.value.code == "SNAPSHOT_001"

"""Long lists of a table's files are kept beside the snapshot, under its digest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.errors import SnapshotError
from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot, write_snapshot
from spark_jobs.contract.file_lists import MAX_FILES_IN_PLACE
from spark_jobs.contract.snapshot import Snapshot, seal_snapshot
from spark_jobs.snapshot_file import read_snapshot as read_in_job
from tests.unit.core.planning.resolve_builder import MONTHLY, resolve, write_project, write_resolver


def make_snapshot(*counts: int) -> Snapshot:
    """A snapshot whose input is a table with locations of so many files."""
    snapshot = resolve(write_resolver(MONTHLY), write_project())
    table = snapshot.input_table
    locations = tuple(
        replace(
            table.locations[0],
            kind="table",
            format="delta",
            files=tuple(f"{place}/{n}.parquet" for n in range(count)),
        )
        for place, count in enumerate(counts)
    )
    tables = {**snapshot.plan.tables, snapshot.plan.input: replace(table, locations=locations)}
    return seal_snapshot(replace(snapshot, plan=replace(snapshot.plan, tables=tables)))


def list_files(snapshot: Snapshot) -> list[str]:
    return [file for location in snapshot.input_table.locations for file in location.files]


def test_short_lists_are_in_the_snapshot(tmp_path: Path) -> None:
    snapshot = make_snapshot(MAX_FILES_IN_PLACE)
    uri = write_snapshot(snapshot, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [f"{snapshot.sha256}.json"]
    assert read_snapshot(uri) == snapshot


@pytest.mark.parametrize("counts", [(MAX_FILES_IN_PLACE + 1,), (MAX_FILES_IN_PLACE, 1, 0)])
def test_long_lists_are_beside_it(tmp_path: Path, counts: tuple[int, ...]) -> None:
    snapshot = make_snapshot(*counts)
    uri = write_snapshot(snapshot, str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{snapshot.sha256}.json",
        f"{snapshot.sha256}.json.files",
    ]
    assert b"/1.parquet" not in Path(uri).read_bytes()
    for found in (read_snapshot(uri), read_in_job(uri, snapshot.sha256)):
        assert found == snapshot
        assert len(list_files(found)) == sum(counts)
    assert seal_snapshot(read_snapshot(uri)).sha256 == snapshot.sha256


def _drop_one(lists: dict[str, Any]) -> dict[str, Any]:
    return {digest: files[1:] for digest, files in lists.items()}


def _rename_one(lists: dict[str, Any]) -> dict[str, Any]:
    return {digest: ["other.parquet", *files[1:]] for digest, files in lists.items()}


@pytest.mark.parametrize(
    "change", [_drop_one, _rename_one, lambda lists: {}, lambda lists: [lists], lambda lists: None]
)
def test_lists_that_were_changed_are_refused(tmp_path: Path, change: Any) -> None:
    snapshot = make_snapshot(MAX_FILES_IN_PLACE + 1)
    uri = write_snapshot(snapshot, str(tmp_path))
    beside = Path(f"{uri}.files")
    beside.write_text(json.dumps(change(json.loads(beside.read_bytes()))))
    with pytest.raises(SnapshotError, match="are not those that it was made with"):
        read_snapshot(uri)


def test_lists_that_are_missing_are_named(tmp_path: Path) -> None:
    uri = write_snapshot(make_snapshot(MAX_FILES_IN_PLACE + 1), str(tmp_path))
    Path(f"{uri}.files").unlink()
    with pytest.raises(SnapshotError, match=r"there is no list of files at .*\.json\.files") as caught:
        read_snapshot(uri)
    assert caught.value.code == "SNAPSHOT_001"

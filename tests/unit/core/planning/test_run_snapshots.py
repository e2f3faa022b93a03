"""Where the snapshot of a run is read from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.errors import SnapshotError
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from tests.unit.core.books import Books, publish_books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    return publish_books(tmp_path_factory.mktemp("published"))


def find_run(books: Books, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(books.registry.list_runs(project="close")[0], **changes)


def test_relative_address_is_read_from_the_folder_of_the_registry(
    books: Books, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = find_run(books)
    monkeypatch.chdir(tmp_path)
    relative = find_run(books, snapshot_uri=f"snapshots/{Path(run.snapshot_uri).name}")
    assert RunSnapshots(books.root).read(relative).sha256 == run.snapshot_sha256
    assert RunSnapshots().find(relative) is None


def test_absolute_address_is_left_as_it_is(books: Books, tmp_path: Path) -> None:
    run = find_run(books)
    assert RunSnapshots(tmp_path).locate(run) == run.snapshot_uri
    assert RunSnapshots(tmp_path).locate(find_run(books, snapshot_uri="s3://lake/1.json")) == "s3://lake/1.json"


def test_run_without_a_snapshot_is_refused(books: Books) -> None:
    with pytest.raises(SnapshotError, match="has no snapshot"):
        RunSnapshots().read(find_run(books, snapshot_uri=None))
    assert RunSnapshots().find(find_run(books, snapshot_uri=None)) is None

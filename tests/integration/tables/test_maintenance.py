"""What the owner of a table does to it, beside runs: compaction, VACUUM, expiry, rollback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles

from airflow_provider_runtime.core.errors import RuntimeProviderError
from tests.integration.tables.kit import TableKit, lines, with_base
from tests.integration.tables.test_pinning import JANUARY, pin, read_pinned


class Rewrite(_OverwriteFiles):
    """What other engines call rewriting of data files; pyiceberg has no name for it."""

    def _summary(self, *arguments: Any) -> Summary:
        return Summary(Operation.REPLACE, **super()._summary(*arguments).additional_properties)


def compact(kit: TableKit) -> None:
    """Put the rows of each period into one file."""
    if kit.format == "delta":
        DeltaTable(str(kit.root / kit.name)).optimize.compact()
        return
    with load_catalog("lake", **kit.address.properties) as catalog:
        table = catalog.load_table(kit.address.name)
        old = [task.file for task in table.scan(row_filter="_period = '2026-01'").plan_files()]
        rows = pa.concat_tables([pq.ParquetFile(file.file_path.removeprefix("file://")).read() for file in old])
        place = f"{table.location()}/data/compacted.parquet"
        pq.write_table(rows, place.removeprefix("file://"))
        with table.transaction() as transaction:
            change = Rewrite(operation=Operation.OVERWRITE, transaction=transaction, io=table.io)
            with change as rewrite:
                for file in old:
                    rewrite.delete_data_file(file)
                rewrite.append_data_file(parquet_file_to_data_file(table.io, transaction.table_metadata, place))


def remove_old_files(kit: TableKit, first: str) -> None:
    """Expire all but the current version and remove files that no other one has."""
    if kit.format == "delta":
        table = DeltaTable(str(kit.root / kit.name))
        table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        return
    files = pin(kit, first).files
    with load_catalog("lake", **kit.address.properties) as catalog:
        catalog.load_table(kit.address.name).maintenance.expire_snapshots().by_id(int(first)).commit()
    kept = {file.uri for file in pin(kit).files}
    for file in files:
        if file.uri not in kept:
            # Other engines remove them when they expire a snapshot.
            Path(file.uri.removeprefix("file://")).unlink()


def test_compaction_changes_neither_pinned_rows_nor_attempts_under_way(kit: TableKit) -> None:
    base = kit.publish(lines("2026-01", "1.00", "2.00"), files=2)
    before = pin(kit, rows=JANUARY)
    request = with_base(kit.stage(lines("2026-01", "3.00"), token=2), base)
    compact(kit)
    assert len(pin(kit, rows=JANUARY).files) == 1
    assert read_pinned(pin(kit, rows=JANUARY)) == lines("2026-01", "1.00", "2.00")
    assert read_pinned(before) == lines("2026-01", "1.00", "2.00")
    kit.open().commit(request)
    assert kit.read() == lines("2026-01", "3.00")


def test_retry_after_a_compaction_finds_its_commit(kit: TableKit) -> None:
    first = kit.stage(lines("2026-01", "1.00", "2.00"), files=2, content="c")
    version = kit.open().commit(first).version
    compact(kit)
    again = kit.open().commit(kit.stage(lines("2026-01", "1.00", "2.00"), token=2, content="c"))
    assert (again.version, again.repeated) == (version, True)


def test_current_version_survives_the_removal_of_old_files(kit: TableKit) -> None:
    first = kit.publish(lines("2026-01", "1.00"))
    old = pin(kit)
    kit.publish(lines("2026-01", "2.00"), token=2)
    remove_old_files(kit, first)
    assert not any(Path(file.uri.removeprefix("file://")).exists() for file in old.files)
    assert kit.read() == lines("2026-01", "2.00")
    kit.publish(lines("2026-01", "3.00"), token=3)
    assert kit.read() == lines("2026-01", "3.00")


def test_staged_files_that_were_cleared_away_are_reported(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    request = kit.stage(lines("2026-01", "2.00"), token=2)
    for path in kit.folder_of(request).glob("*.parquet"):
        path.unlink()
    with pytest.raises(RuntimeProviderError, match="a file of the table is gone") as caught:
        kit.open().commit(request)
    assert caught.value.code == "DATA_001"
    assert kit.read() == lines("2026-01", "1.00")


def test_version_that_was_rolled_back_is_current_again(kit: TableKit, monkeypatch: Any) -> None:
    first = kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-01", "2.00"), token=2)
    if kit.format == "delta":
        DeltaTable(str(kit.root / kit.name)).restore(int(first))
    else:
        with load_catalog("lake", **kit.address.properties) as catalog:
            table = catalog.load_table(kit.address.name)
            table.manage_snapshots().rollback_to_snapshot(int(first)).commit()
    assert read_pinned(pin(kit)) == lines("2026-01", "1.00")
    with pytest.raises(RuntimeProviderError, match="replaced by a newer one 2"):
        kit.publish(lines("2026-01", "9.00"), token=1)
    kit.publish(lines("2026-01", "3.00"), token=3)
    assert kit.read() == lines("2026-01", "3.00")


@pytest.mark.parametrize("content", [b"", b"{broken", b"nonsense" * 9])
def test_damaged_metadata_are_reported_and_not_tried_again(kit: TableKit, content: bytes) -> None:
    kit.publish(lines("2026-01", "1.00"))
    if kit.format == "delta":
        files = [kit.root / kit.name / "_delta_log" / f"{1:020d}.json"]
        content = content or b"\0"
    else:
        with load_catalog("lake", **kit.address.properties) as catalog:
            table = catalog.load_table(kit.address.name)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        files = [Path(uri.removeprefix("file://")) for uri in (table.metadata_location, snapshot.manifest_list)]
    for file in files:
        before = file.read_bytes() if file.exists() else None
        file.write_bytes(content)
        with pytest.raises(RuntimeProviderError, match="is damaged") as caught:
            kit.open().find_pin()
        assert caught.value.code == "DATA_001"
        if before is not None:
            file.write_bytes(before)

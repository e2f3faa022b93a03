"""Versions of registered datasets: each registration replaces or adds one period's slice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_runtime.core.errors import DefinitionError
from airflow_provider_runtime.core.registry.ports import (
    DatasetSummary,
    DatasetVersion,
    Registration,
    RunRecord,
    SliceRecord,
    SliceWrite,
)
from airflow_provider_runtime.core.registry.registrants import list_registrant_problems
from airflow_provider_runtime.core.registry.store import (
    DatasetRow,
    SliceRow,
    Store,
    VersionRow,
    to_datetime,
)


def register_slice(store: Store, run: RunRecord, write: SliceWrite, now_millis: int) -> Registration:
    """Make the next version of a dataset, unless its latest one holds these very rows of this snapshot already."""
    dataset = store.find_dataset(write.dataset_id)
    current = store.find_current_slice(write.dataset_id, write.period) if dataset else None
    if current is not None and _is_same(current, run, write):
        registration = _make_registration(write, current.first_version, current.uri, created=False)
    else:
        _refuse_other_registrant(store, run, dataset)
        version = dataset.latest_version + 1 if dataset else 1
        _add_version(store, run, write, version, now_millis, replaces=current is not None)
        registration = _make_registration(write, version, write.uri, created=True)
    store.add_registration(run.snapshot_sha256, run.token, registration)
    return registration


def find_version(store: Store, reference: str, version: int | None) -> DatasetVersion | None:
    """Find a version with the slices that it reads."""
    dataset = store.find_dataset(reference)
    row = store.find_version(dataset.dataset_id, version or dataset.latest_version) if dataset else None
    if dataset is None or row is None:
        return None
    return _make_version(dataset, row, tuple(map(_make_slice, store.list_slices(row.dataset_id, row.version))))


def list_versions(store: Store, reference: str) -> list[DatasetVersion]:
    """List a dataset's versions without their slices."""
    dataset = store.find_dataset(reference)
    return [_make_version(dataset, row) for row in store.list_versions(dataset.dataset_id)] if dataset else []


def list_datasets(store: Store) -> list[DatasetSummary]:
    """List datasets with what their latest versions hold."""
    summaries = []
    for dataset in store.list_datasets():
        slices = store.list_slices(dataset.dataset_id, dataset.latest_version)
        version = store.find_version(dataset.dataset_id, dataset.latest_version)
        updated = to_datetime(version.created_millis if version else 0)
        rows = sum(item.rows for item in slices)
        summaries.append(
            DatasetSummary(dataset.dataset_id, dataset.name, dataset.latest_version, len(slices), rows, updated)
        )
    return summaries


def _refuse_other_registrant(store: Store, run: RunRecord, dataset: DatasetRow | None) -> None:
    latest = store.find_version(dataset.dataset_id, dataset.latest_version) if dataset else None
    registrant = store.find_run(latest.snapshot_sha256) if latest else None
    problems = list_registrant_problems(dataset.name, registrant, run.project_id) if dataset else []
    if problems:
        raise DefinitionError(problems)


def _is_same(current: SliceRow, run: RunRecord, write: SliceWrite) -> bool:
    if (current.snapshot_sha256, current.output_seq) != (run.snapshot_sha256, write.output_seq):
        return False
    # A snapshot gives the same rows again unless its files have changed; where that is unknown, they may have.
    return write.content is not None and (current.rows, current.content) == (write.rows, write.content)


def _add_version(
    store: Store, run: RunRecord, write: SliceWrite, version: int, now_millis: int, *, replaces: bool
) -> None:
    # An old snapshot that is executed again takes no column from those who read what newer versions registered.
    newer = store.find_newer_definition(write.dataset_id, run.project_id, run.project_version)
    definition: Mapping[str, Any] = {**(newer or write.definition), "version": version}
    store.put_dataset(DatasetRow(write.dataset_id, write.dataset_name, version))
    store.add_version(
        VersionRow(
            write.dataset_id,
            version,
            definition,
            write.period,
            now_millis,
            run.run_id,
            run.snapshot_sha256,
        )
    )
    if replaces:
        store.end_slice(write.dataset_id, write.period, version)
    store.add_slice(
        SliceRow(
            dataset_id=write.dataset_id,
            period=write.period,
            uri=write.uri,
            rows=write.rows,
            definition={**write.definition, "version": version},
            output_seq=write.output_seq,
            snapshot_sha256=run.snapshot_sha256,
            content=write.content,
            token=run.token,
            first_version=version,
        )
    )


def _make_registration(write: SliceWrite, version: int, uri: str, *, created: bool) -> Registration:
    return Registration(write.output_seq, write.dataset_id, write.dataset_name, version, uri, write.rows, created)


def _make_slice(row: SliceRow) -> SliceRecord:
    return SliceRecord(
        row.period,
        row.uri,
        row.rows,
        row.definition,
        row.output_seq,
        row.snapshot_sha256,
        row.first_version,
        row.content,
    )


def _make_version(dataset: DatasetRow, row: VersionRow, slices: tuple[SliceRecord, ...] = ()) -> DatasetVersion:
    return DatasetVersion(
        dataset.dataset_id,
        dataset.name,
        row.version,
        row.definition,
        row.period,
        to_datetime(row.created_millis),
        row.run_id,
        row.snapshot_sha256,
        slices,
    )

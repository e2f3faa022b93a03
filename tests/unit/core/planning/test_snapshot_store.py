"""Snapshots as bytes: canonical, written once, checked whenever they are read."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.core.errors import SnapshotError
from airflow_provider_runtime.core.planning.snapshot import store as snapshot_store
from airflow_provider_runtime.core.planning.snapshot.store import LocalStorage, read_snapshot, write_snapshot
from spark_jobs.contract.documents import encode_canonical, read_document
from spark_jobs.contract.snapshot import Snapshot, seal_snapshot

DOCUMENT = {
    "snapshot_version": 2,
    "run_id": "r",
    "run_timestamp": "2026-02-01T00:00:00Z",
    "project": {"id": "p", "name": "p", "version": 1, "digest": "sha256:0"},
    "project_snapshot": {"name": "p"},
    "period": {"identifier": "2026-01", "level": "month", "start_date": "2026-01-01", "end_date": "2026-01-31"},
    "as_of": "2026-01-01",
    "resolver_snapshot": {
        "input_dataset_id": "d",
        "input_dataset_version": 1,
        "resolver_id": "r",
        "resolver_version": 1,
        "resolver_source": "dataset_resolver",
        "join_datasets": [],
        "append_datasets": [],
        "lookup_datasets": [],
    },
    "plan": {"tables": {}, "input": "input", "input_columns": [], "operations": [], "marks": {}, "project_name": "p"},
}


def make_snapshot(filler: str = "p") -> Snapshot:
    return seal_snapshot(read_document(Snapshot, {**DOCUMENT, "project_snapshot": {"name": filler}}))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_canonical_form_read_back_is_the_same_value_and_bytes(value: object) -> None:
    try:
        content = encode_canonical(value)
    except UnicodeEncodeError:  # a lone surrogate has no bytes in UTF-8
        return
    assert json.loads(content) == value
    assert encode_canonical(json.loads(content)) == content


@given(st.dictionaries(st.text("abcXYZ\u00e9", max_size=4), st.integers(), max_size=6))
def test_canonical_form_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    turned = dict(reversed(list(value.items())))
    assert encode_canonical(turned) == encode_canonical(value)


def test_canonical_form_is_compact_sorted_utf8() -> None:
    assert encode_canonical({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'.encode()


@pytest.mark.parametrize("value", [{"a": [0.1]}, {"a": float("nan")}, {1: "a"}])
def test_canonical_form_refuses_floats_and_keys_that_are_not_text(value: object) -> None:
    with pytest.raises(TypeError):
        encode_canonical(value)


def test_store_writes_once_and_reads_back(tmp_path: Path) -> None:
    snapshot = make_snapshot()
    store = str(tmp_path / "snap shots")
    uri = write_snapshot(snapshot, store)
    assert uri == f"{store}/{hashlib.sha256(snapshot.content).hexdigest()}.json"
    written = Path(uri).stat()
    assert write_snapshot(snapshot, store) == uri
    assert Path(uri).stat().st_mtime_ns == written.st_mtime_ns
    assert [path.name for path in Path(store).iterdir()] == [Path(uri).name]
    for address in (uri, f"file://{uri}"):
        found = read_snapshot(address)
        assert (found, found.run_id, found.period.identifier) == (snapshot, "r", "2026-01")
        assert json.loads(found.content) == DOCUMENT


def test_store_written_by_many_at_once_holds_one_whole_file(tmp_path: Path) -> None:
    snapshot = make_snapshot("x" * 200_000)
    threads = [threading.Thread(target=write_snapshot, args=(snapshot, str(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [snapshot.content]


def test_store_without_hard_links_still_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", refuse)
    uri = write_snapshot(make_snapshot(), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [Path(uri).name]


@pytest.mark.parametrize("position", [0, 20, -1])
def test_snapshot_with_one_changed_byte_is_refused(tmp_path: Path, position: int) -> None:
    path = Path(write_snapshot(make_snapshot(), str(tmp_path)))
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="does not match its digest"):
        read_snapshot(str(path))


def test_snapshot_of_another_name_needs_a_digest_that_is_known(tmp_path: Path) -> None:
    snapshot = make_snapshot()
    path = tmp_path / "snapshot.json"
    path.write_bytes(snapshot.content)
    with pytest.raises(SnapshotError, match="not known"):
        read_snapshot(str(path))
    with pytest.raises(SnapshotError, match="not known"):
        read_snapshot(str(path), is_known=lambda _: False)
    assert read_snapshot(str(path), is_known=lambda digest: digest == snapshot.sha256).sha256 == snapshot.sha256
    assert read_snapshot(str(path), snapshot.sha256.upper()).sha256 == snapshot.sha256
    with pytest.raises(SnapshotError, match="does not match"):
        read_snapshot(str(path), "0" * 64)
    with pytest.raises(SnapshotError, match="not a SHA-256"):
        read_snapshot(str(path), "abc")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"snapshot_version": 9}', b"\xff", b"[" * 100_000])
def test_document_that_is_not_a_snapshot_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"{hashlib.sha256(content).hexdigest()}.json"
    path.write_bytes(content)
    with pytest.raises(SnapshotError):
        read_snapshot(str(path))


@pytest.mark.parametrize("name", ["missing.json", ".", "s3://bucket/x.json"])
def test_snapshot_that_is_not_there_is_a_problem(tmp_path: Path, name: str) -> None:
    with pytest.raises(SnapshotError):
        read_snapshot(name if "://" in name else str(tmp_path / name), "0" * 64, LocalStorage())


@pytest.mark.parametrize("name", ["pipe", "zero"])
def test_file_that_never_ends_is_refused_as_a_snapshot(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(SnapshotError, match=r"SNAPSHOT_001: .* is not a regular file"):
        read_snapshot(str(tmp_path / name), "a" * 64)


def test_file_that_is_too_large_is_refused_as_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = make_snapshot()
    uri = write_snapshot(snapshot, str(tmp_path))
    assert read_snapshot(uri).content == snapshot.content
    monkeypatch.setattr(snapshot_store, "MAX_SNAPSHOT_BYTES", len(snapshot.content) - 1)
    with pytest.raises(SnapshotError, match=r"SNAPSHOT_001: .* it is not a snapshot"):
        read_snapshot(uri)

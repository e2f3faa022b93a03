"""The store of snapshots: a folder of `<sha256>.json` files, each written once and checked whenever it is read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from airflow_provider_runtime.core.errors import InfrastructureError, Problem, SnapshotError
from airflow_provider_runtime.core.planning.resolve.locations import show_address
from airflow_provider_runtime.core.private_folders import make_private_folder
from spark_jobs.contract.addresses import IrregularFileError, find_local_path, read_regular_file
from spark_jobs.contract.file_lists import SUFFIX, ReadLists
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES, Snapshot, UnreadableSnapshotError, parse_snapshot

_DIGEST_NAME = re.compile(r"([0-9a-f]{64})\.json", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


class Storage(Protocol):
    """Where the files of a snapshot store are; Airflow's object storage is another one."""

    def read_bytes(self, uri: str) -> bytes:
        """Return a file's content; FileNotFoundError when there is none."""

    def write_once(self, uri: str, content: bytes) -> None:
        """Write a file as a whole, or leave the one that is there as it is."""


class LocalStorage:
    """Files of this machine, as paths or `file:` URIs."""

    def read_bytes(self, uri: str) -> bytes:
        """Return a file's content."""
        try:
            return read_regular_file(_local_path(uri), MAX_SNAPSHOT_BYTES)
        except IrregularFileError:
            message = f"{show_address(uri)} is not a regular file"
            raise SnapshotError(Problem("SNAPSHOT_001", message, "name a snapshot's file")) from None

    def write_once(self, uri: str, content: bytes) -> None:
        """Write a file under a name of its own and link it to its place, so that nobody sees a part of it."""
        target = _local_path(uri)
        make_private_folder(target.parent)
        if target.exists():
            return
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _link(draft, target)
        finally:
            draft.unlink(missing_ok=True)


def _link(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except FileExistsError:
        return
    except OSError:
        # Some file systems have no hard links; the same content under the same name makes a rename as good.
        draft.replace(target)
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _local_path(uri: str) -> Path:
    path = find_local_path(uri)
    if path is None and not uri.startswith("file:"):
        message = f"the snapshot store '{show_address(uri)}' is not a local folder"
        raise SnapshotError(
            Problem("SNAPSHOT_001", message, "give a local path, or use the store of an Airflow connection")
        )
    if path is None or "\0" in path:
        message = f"the address '{show_address(uri)}' is not a path of this machine"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "write file:///folder/name.json"))
    return Path(path)


def make_snapshot_uri(store: str, sha256: str) -> str:
    """Return where a snapshot with this digest is in a store."""
    return f"{store.rstrip('/')}/{sha256}.json"


def write_snapshot(snapshot: Snapshot, store: str, storage: Storage | None = None) -> str:
    """Write a snapshot into a store and return its address; nothing happens when it is there already."""
    uri = make_snapshot_uri(store, snapshot.sha256)
    store_of_files = storage or LocalStorage()
    try:
        if snapshot.file_lists:
            store_of_files.write_once(uri + SUFFIX, snapshot.file_lists)
        store_of_files.write_once(uri, snapshot.content)
    except OSError as error:
        message = f"the snapshot cannot be written to {show_address(uri)}: {error.strerror or error}"
        raise InfrastructureError(Problem("INFRA_001", message, "see that the folder exists and has room")) from error
    return uri


def read_snapshot(
    uri: str,
    sha256: str | None = None,
    storage: Storage | None = None,
    is_known: Callable[[str], bool] | None = None,
) -> Snapshot:
    """Return a snapshot once its digest is checked: the one given, the file name's, or one that `is_known` accepts."""
    reader = _Reader(uri, storage or LocalStorage())
    content = reader.read()
    named = _DIGEST_NAME.fullmatch(uri.rsplit("/", 1)[-1])
    expected = {digest.lower() for digest in (sha256, named[1] if named else None) if digest}
    if not expected:
        expected = {_require_known(uri, content, is_known)}
    for digest in expected:
        if not _DIGEST.fullmatch(digest):
            raise SnapshotError(
                Problem("SNAPSHOT_001", f"'{digest}' is not a SHA-256 digest", "write 64 hexadecimal digits")
            )
        snapshot = open_snapshot(content, digest, reader.read_lists)
    return snapshot


@dataclass(frozen=True)
class _Reader:
    """The files of one snapshot."""

    uri: str
    storage: Storage

    def read(self) -> bytes:
        """Return the snapshot itself."""
        return self._read(self.uri)

    def read_lists(self) -> bytes:
        """Return the lists of files beside it."""
        return self._read(self.uri + SUFFIX)

    def _read(self, uri: str) -> bytes:
        try:
            content = self.storage.read_bytes(uri)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            what = "list of files" if uri != self.uri else "snapshot"
            raise SnapshotError(Problem("SNAPSHOT_001", f"there is no {what} at {show_address(uri)}")) from None
        except OSError as error:
            message = f"the snapshot {show_address(uri)} cannot be read: {error.strerror or error}"
            raise InfrastructureError(Problem("INFRA_001", message, "try again when the store can be read")) from error
        if len(content) > MAX_SNAPSHOT_BYTES:
            message = f"{show_address(uri)} is larger than {MAX_SNAPSHOT_BYTES // 2**20} MiB: it is not a snapshot"
            raise SnapshotError(Problem("SNAPSHOT_001", message, "name a snapshot's file"))
        return content


def open_snapshot(content: bytes, sha256: str, read_lists: ReadLists | None = None) -> Snapshot:
    """Return the snapshot that these bytes hold; SNAPSHOT_001 when they are another one, or none."""
    try:
        return parse_snapshot(content, sha256, read_lists)
    except UnreadableSnapshotError as error:
        raise SnapshotError(Problem("SNAPSHOT_001", str(error), error.hint)) from None


def _require_known(uri: str, content: bytes, is_known: Callable[[str], bool] | None) -> str:
    digest = hashlib.sha256(content).hexdigest()
    if is_known is None or not is_known(digest):
        message = f"the digest of the snapshot {show_address(uri)} is not known: its content cannot be trusted"
        hint = "give --sha256, keep the name <sha256>.json, or use the registry that the run is in"
        raise SnapshotError(Problem("SNAPSHOT_001", message, hint))
    return digest

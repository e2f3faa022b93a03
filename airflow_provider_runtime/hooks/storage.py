"""Snapshots and reports on any storage that Airflow knows: local folders, and object stores by their URI."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.core.planning.snapshot.store import LocalStorage
from airflow_provider_runtime.core.private_folders import make_private_folder
from spark_jobs.contract.addresses import find_local_path, is_local
from spark_jobs.contract.snapshot import MAX_SNAPSHOT_BYTES


class AirflowStorage:
    """Reads and writes small documents: local ones directly, all others through Airflow's object storage."""

    def read_bytes(self, uri: str) -> bytes:
        """Return a document's content, of one that is too large a part; FileNotFoundError when there is none."""
        if is_local(uri):
            return LocalStorage().read_bytes(uri)
        with _open_object(uri).open("rb") as file:
            content: bytes = file.read(MAX_SNAPSHOT_BYTES + 1)
        return content

    def find_bytes(self, uri: str) -> bytes | None:
        """Return a document's content, or None when there is none."""
        try:
            return self.read_bytes(uri)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InfrastructureError(Problem("INFRA_001", f"cannot read {uri}: {reason}")) from error

    def write_once(self, uri: str, content: bytes) -> None:
        """Write a document whose name says its content; one that is there already stays."""
        if is_local(uri):
            LocalStorage().write_once(uri, content)
            return
        target = _open_object(uri)
        if not target.exists():
            target.write_bytes(content)

    def check_writable(self, uri: str) -> None:
        """Write and remove an empty document below a prefix."""
        name = f"{uri.rstrip('/')}/.probe-{uuid4().hex}"
        local = find_local_path(name)
        probe = _open_object(name) if local is None else Path(local)
        make_local_store(uri)
        probe.write_bytes(b"")
        probe.unlink()


def make_absolute(address: str) -> str:
    """Return a store's address as the Spark job needs it: a URI."""
    local = find_local_path(address)
    return address.rstrip("/") if local is None else f"file://{Path(local).expanduser().absolute()}"


def make_local_store(uri: str) -> None:
    """Make a store's folder, unless it is there or not on this machine."""
    local = find_local_path(uri)
    if local is not None:
        make_private_folder(Path(local))


def open_store(uri: str, reference: str | None) -> Any:
    """Return the file system of a URI, Airflow's or else fsspec's own; LookupError when neither has one."""
    from airflow.sdk import ObjectStoragePath

    connection = (reference or "").removeprefix("airflow://") if (reference or "").startswith("airflow://") else None
    with suppress(ImportError, ValueError):
        return ObjectStoragePath(uri, conn_id=connection).fs
    try:
        import fsspec  # type: ignore[import-untyped]

        # What an earlier look has listed is forgotten.
        return fsspec.core.url_to_fs(uri, skip_instance_cache=True, use_listings_cache=False)[0]
    except (ImportError, ValueError) as error:
        raise LookupError(f"neither Airflow nor fsspec has a file system for '{uri.partition(':')[0]}:'") from error


def _open_object(uri: str) -> Any:
    from airflow.sdk import ObjectStoragePath

    return ObjectStoragePath(uri)

"""Delta tables in their stores, and what goes wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.committing import AnswerLostError, HeadMovedError
from airflow_provider_runtime.core.tables.ports import TableAddress

_LOCAL = "file://"


def find_table(address: TableAddress, version: int | None = None) -> DeltaTable | None:
    """Return a table at a version, by default the current one; None when there is none."""
    try:
        return DeltaTable(_make_uri(address), version=version, storage_options=dict(address.properties) or None)
    except TableNotFoundError:
        return None


def open_files(address: TableAddress) -> fs.FileSystem:
    """Return the table's folder as a file system of which it is the root."""
    if address.name.startswith(_LOCAL):
        # deltalake's own leaves empty folders behind.
        return fs.SubTreeFileSystem(_make_uri(address), fs.LocalFileSystem())
    handler = DeltaStorageHandler(_make_uri(address), dict(address.properties) or None)
    return fs.PyFileSystem(handler)


def read_actions(address: TableAddress, version: int) -> list[dict[str, Any]] | None:
    """Return the actions of a commit; None when the log does not reach back to it."""
    try:
        with open_files(address).open_input_file(f"_delta_log/{version:020d}.json") as stream:
            lines = stream.read().splitlines()
    except FileNotFoundError:
        return None
    return [json.loads(line) for line in lines if line.strip()]


@contextmanager
def explained(address: TableAddress) -> Iterator[None]:
    """Turn what deltalake raises into errors of this package; its texts may hold secrets."""
    try:
        yield
    except (RuntimeProviderError, HeadMovedError, AnswerLostError):
        raise
    except PermissionError as error:
        hint = "see the credential and its rights"
        raise address.make_error("CATALOG_004", "its store refuses the login", hint) from error
    except FileNotFoundError as error:
        hint = "restore it, or resolve again to read the current version"
        raise address.make_error("DATA_001", "a file of the table is gone", hint) from error
    except (DeltaError, OSError, ValueError) as error:
        raise address.make_error("INFRA_001", f"its store fails with {type(error).__name__}") from error


def _make_uri(address: TableAddress) -> str:
    """Return the folder as deltalake takes it: a local one is a path, whose characters are what they are."""
    return address.name.removeprefix(_LOCAL)

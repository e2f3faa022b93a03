"""Delta tables in their stores, and what goes wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as version_of
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.committing import AnswerLostError, HeadMovedError
from airflow_provider_runtime.core.tables.ports import TableAddress

_LOCAL = "file://"
_UNKNOWN = re.compile("unsupported|not supported|protocol|catalog-managed", re.IGNORECASE)


def find_table(address: TableAddress, version: int | None = None) -> DeltaTable | None:
    """Return a table at a version, by default the current one; None when there is none."""
    try:
        return DeltaTable(_make_uri(address), version=version, storage_options=dict(address.properties) or None)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        # A store that fails is an OSError. The library has one class for all that it does not know of a log.
        if "Json error" in str(error):
            raise address.make_damage_error("its log") from error
        if _UNKNOWN.search(str(error)) is None:
            raise
        message = f"its log asks for what deltalake {version_of('deltalake')} does not know"
        hint = "drop the features of its protocol that are newer (ALTER TABLE … DROP FEATURE), or copy it into a table"
        raise address.make_error("SOURCE_001", message, f"{hint} without them") from error


def open_files(address: TableAddress) -> fs.FileSystem:
    """Return the table's folder as a file system of which it is the root."""
    if address.name.startswith(_LOCAL):
        # deltalake's own leaves empty folders behind.
        return fs.SubTreeFileSystem(_make_uri(address), fs.LocalFileSystem())
    handler = DeltaStorageHandler(_make_uri(address), dict(address.properties) or None)
    return fs.PyFileSystem(handler)


def list_names(address: TableAddress) -> list[str]:
    """Return the names in the table's folder; empty if it does not exist."""
    found = open_files(address).get_file_info(fs.FileSelector("", allow_not_found=True))
    return sorted(entry.base_name for entry in found)


def read_actions(address: TableAddress, version: int) -> list[dict[str, Any]] | None:
    """Return the actions of a commit; None when the log does not reach back to it."""
    try:
        with open_files(address).open_input_file(f"_delta_log/{version:020d}.json") as stream:
            lines = stream.read().splitlines()
    except FileNotFoundError:
        return None
    return [json.loads(line) for line in lines if line.strip()]


@contextmanager
def translate_errors(address: TableAddress) -> Iterator[None]:
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
        hint = "see that it can be reached from here with the options of the datasource, then try again"
        raise address.make_error("INFRA_001", f"its store fails with {type(error).__name__}", hint) from error


def _make_uri(address: TableAddress) -> str:
    """Return the folder as deltalake takes it: a local one is a path, whose characters are what they are."""
    return address.name.removeprefix(_LOCAL)

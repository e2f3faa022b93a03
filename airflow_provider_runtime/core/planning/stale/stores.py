"""Files of object stores, where fsspec and its package for the store are installed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from airflow_provider_runtime.core.planning.stale.glob_patterns import expand_pattern
from spark_jobs.contract.addresses import is_glob, is_hidden, unescape_pattern
from spark_jobs.contract.fingerprints import FileState

_log = logging.getLogger(__name__)
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modificationTime", "created")
"""What fsspec's packages call the time of the last change."""


class Stores:
    """Lists files through fsspec, with the credentials that the environment gives its packages."""

    def __init__(self) -> None:
        self._systems: dict[tuple[str, str], Any] = {}
        """What fsspec has made for each store; None for one that has not answered: it is not asked again."""

    def list_files(self, uri: str) -> list[FileState] | None:
        """Return the files at an address; None when the store cannot be listed from here."""
        parts = urlsplit(uri)
        store = (parts.scheme, parts.netloc)
        try:
            if store not in self._systems:
                self._systems[store] = _open(uri)
            return None if self._systems[store] is None else sorted(_list(self._systems[store], uri))
        except Exception as error:  # noqa: BLE001 fsspec's packages raise what they like, and a look must not fail
            _log.info("the files at %s cannot be listed: %s", unescape_pattern(uri), type(error).__name__)
            self._systems[store] = None
            return None


def _open(uri: str) -> Any:
    import fsspec  # type: ignore[import-untyped]

    # What a listing has found is not kept: the next look shall see what is there then.
    return fsspec.core.url_to_fs(unescape_pattern(uri), skip_instance_cache=True, use_listings_cache=False)[0]


def _list(system: Any, uri: str) -> list[FileState]:
    roots = [unescape_pattern(uri)]
    if is_glob(uri):
        head = uri[: uri.index("://") + 3]
        roots = [f"{head}{name.lstrip('/')}" for pattern in expand_pattern(uri) for name in system.glob(pattern)]
    found: dict[str, FileState] = {}
    for root in roots:
        top = system._strip_protocol(root)
        for name, entry in system.find(top, detail=True).items():
            below = name.removeprefix(top)
            if entry["type"] == "file" and not any(map(is_hidden, below.split("/"))):
                address = root.rstrip("/") + below
                found[address] = FileState(address, int(entry["size"]), _read_millis(entry))
    return list(found.values())


def _read_millis(entry: Mapping[str, Any]) -> int:
    value = next(entry[name] for name in _TIMES if entry.get(name) is not None)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return int(value * 1000)

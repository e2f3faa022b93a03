"""Catalogs and registries of the DAGs, as the API server sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from airflow_provider_runtime.core.catalog.files import find_files
from airflow_provider_runtime.core.catalog.loader import LoadResult, load_catalog
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.hooks.runtime import RuntimeHook

Signature = tuple[tuple[str, int, int], ...]


@dataclass
class CatalogCache:
    """Catalogs by their folder, read again when one of their files has changed."""

    _loaded: dict[Path, tuple[Signature, LoadResult]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def load(self, root: Path) -> LoadResult | None:
        """Return a catalog, None when its folder is not on this machine."""
        if not root.is_dir():
            return None
        with self._lock:
            signature = _sign(root)
            known = self._loaded.get(root)
            if known is None or known[0] != signature:
                known = (signature, load_catalog(root))
                self._loaded[root] = known
            return known[1]


def _sign(root: Path) -> Signature:
    found = []
    for path, name in find_files(root):
        state = path.stat()
        found.append((name, state.st_size, state.st_mtime_ns))
    return tuple(sorted(found))


@contextmanager
def open_registry(runtime_conn_id: str) -> Iterator[Registry]:
    """Open the registry of a runtime connection."""
    registry = RuntimeHook(runtime_conn_id).open_registry()
    try:
        yield registry
    finally:
        registry.close()

"""The connection type `runtime`: registry, snapshot store, slice store and catalog of a deployment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook, conf

from airflow_provider_runtime.core.errors import DefinitionError, Problem, RuntimeProviderError
from airflow_provider_runtime.core.suggest import suggest
from airflow_provider_runtime.hooks.storage import AirflowStorage, make_absolute, make_local_store

if TYPE_CHECKING:
    from airflow_provider_runtime.core.registry.ports import Registry

DEFAULT_CONN_ID = "runtime_default"
SECTION = "runtime"
_EXTRA_KEYS = ("registry_url", "snapshot_store", "slice_store", "catalog_path")


@dataclass(frozen=True)
class RuntimeSettings:
    """Where a deployment keeps things; the registry's URL may hold a password and is not shown."""

    registry_url: str
    snapshot_store: str
    slice_store: str
    catalog_path: str

    def __repr__(self) -> str:
        return f"RuntimeSettings(snapshot_store={self.snapshot_store!r}, slice_store={self.slice_store!r})"


class RuntimeHook(BaseHook):
    """Reads a connection of type `runtime`; without the default connection everything lives below AIRFLOW_HOME."""

    conn_name_attr = "runtime_conn_id"
    default_conn_name = DEFAULT_CONN_ID
    conn_type = "runtime"
    hook_name = "Runtime"

    def __init__(self, runtime_conn_id: str = DEFAULT_CONN_ID, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.runtime_conn_id = runtime_conn_id
        self._settings: RuntimeSettings | None = None

    @property
    def settings(self) -> RuntimeSettings:
        """The deployment's settings."""
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    @property
    def storage(self) -> AirflowStorage:
        """Storage of snapshots and reports."""
        return AirflowStorage()

    def get_conn(self) -> Registry:
        """Return the registry, made or upgraded when needed."""
        return self.open_registry()

    def open_registry(self) -> Registry:
        """Return the registry, made or upgraded when needed."""
        # SQLAlchemy is imported only where a task runs, never while a DAG file is parsed.
        from airflow_provider_runtime.core.registry.sql import open_registry

        return open_registry(self.settings.registry_url)

    def make_stores(self) -> None:
        """Make the stores that are folders of this machine and missing: they hold data, and are its user's alone."""
        for uri in (self.settings.snapshot_store, self.settings.slice_store):
            make_local_store(uri)

    def resolve_catalog_path(self, catalog: str | None) -> Path:
        """Return the catalog folder: the one asked for, else the connection's."""
        return Path(catalog or self.settings.catalog_path)

    def test_connection(self) -> tuple[bool, str]:
        """Open the registry, write to both stores and read the catalog; report everything that is wrong."""
        checks = {
            "registry": self._check_registry,
            "snapshot store": lambda: self.storage.check_writable(self.settings.snapshot_store),
            "slice store": lambda: self.storage.check_writable(self.settings.slice_store),
            "catalog": self._check_catalog,
        }
        try:
            _ = self.settings
        except RuntimeProviderError as error:
            return False, _list_problems(error)
        faults = []
        for name, check in checks.items():
            try:
                check()
            except RuntimeProviderError as error:
                faults.append(f"{name}: {_list_problems(error)}")
            except Exception as error:
                faults.append(f"{name}: {_describe(error)}")
                self.log.debug("connection test of the %s failed", name, exc_info=True)
        return (False, "\n".join(faults)) if faults else (True, self._describe_usable())

    def _describe_usable(self) -> str:
        stores = f"snapshots in {self.settings.snapshot_store}, slices in {self.settings.slice_store}"
        catalog = f"catalog {self.settings.catalog_path}" if self._has_catalog() else "DAG files name their catalog"
        return f"registry and stores are usable; {stores}; {catalog}"

    def _has_catalog(self) -> bool:
        """Whether a catalog is named, or is at the default path."""
        return self.settings.catalog_path != _get_default_catalog() or Path(self.settings.catalog_path).exists()

    def _check_registry(self) -> None:
        self.open_registry().list_datasets()

    def _check_catalog(self) -> None:
        from airflow_provider_runtime.core.catalog.loader import load_catalog

        if self._has_catalog():
            load_catalog(self.settings.catalog_path).get_catalog()

    def _read_settings(self) -> RuntimeSettings:
        home = find_home()
        extra, registry_url = self._read_connection()
        if registry_url:
            _mask(registry_url)
        return RuntimeSettings(
            registry_url=registry_url or f"sqlite:///{home}/.runtime/registry.db",
            snapshot_store=make_absolute(_choose(extra, "snapshot_store", f"{home}/.runtime/snapshots")),
            slice_store=make_absolute(_choose(extra, "slice_store", f"{home}/.runtime/slices")),
            catalog_path=_choose(extra, "catalog_path", _get_default_catalog()),
        )

    def _read_connection(self) -> tuple[dict[str, Any], str]:
        try:
            connection = self.get_connection(self.runtime_conn_id)
        except AirflowNotFoundException:
            if self.runtime_conn_id == DEFAULT_CONN_ID:
                return {}, ""
            message = f"connection '{self.runtime_conn_id}' is not defined"
            hint = (
                "add a connection of type runtime, or leave runtime_conn_id out to keep everything under AIRFLOW_HOME"
            )
            raise DefinitionError(Problem("CATALOG_004", message, hint)) from None
        extra = connection.extra_dejson
        _refuse_unknown_keys(self.runtime_conn_id, extra)
        return extra, connection.password or str(extra.get("registry_url") or "")


def find_home() -> str:
    """Return Airflow's home folder."""
    return os.environ.get("AIRFLOW_HOME") or os.path.expanduser("~/airflow")


def _get_default_catalog() -> str:
    return f"{find_home()}/catalog"


def _describe(error: Exception) -> str:
    """Say in words why storage cannot be used; the text of a library's error may hold a secret."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be written to: {error.strerror} ({type(error).__name__})"
    if isinstance(error, ValueError | ImportError):
        return f"no storage of this kind is installed, or its address is misspelled ({type(error).__name__})"
    return f"cannot be used ({type(error).__name__})"


def _list_problems(error: RuntimeProviderError) -> str:
    shown = error.problems[:8]
    return "; ".join(f"{problem} ({problem.hint})" if problem.hint else str(problem) for problem in shown)


def _refuse_unknown_keys(conn_id: str, extra: dict[str, Any]) -> None:
    """A misspelt key would leave its setting at the default, unseen."""
    problems = [
        Problem("CATALOG_002", f"unknown key '{key}' in the extra of connection '{conn_id}'", suggest(key, _EXTRA_KEYS))
        for key in extra
        if key not in _EXTRA_KEYS
    ]
    if problems:
        raise DefinitionError(problems)


def _choose(extra: dict[str, Any], key: str, default: str) -> str:
    return str(extra.get(key) or "") or str(conf.get(SECTION, key, fallback="") or "") or default


def _mask(registry_url: str) -> None:
    from airflow.sdk.log import mask_secret

    mask_secret(registry_url)
    userinfo, separator, _ = registry_url.partition("://")[2].rpartition("@")
    password = userinfo.partition(":")[2]
    if separator and password:
        mask_secret(password)

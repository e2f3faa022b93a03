"""The version of every dataset that a run reads: as pinned, else the latest active one, chosen once."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.planning.check.checked import TableUse
from airflow_provider_runtime.core.planning.check.datasets import DatasetAnswer
from airflow_provider_runtime.core.planning.check.registered import REGISTRY_FILE, find_registered_name
from airflow_provider_runtime.core.registry.ports import DatasetVersion, Registry


@dataclass(frozen=True, slots=True)
class Pin:
    """A table at its version; `registered` holds the slices when the registry knows the dataset."""

    use: TableUse
    version: int
    reason: str
    is_registered: bool = False
    registered: DatasetVersion | None = None
    registered_name: str | None = None
    """The registered dataset that it is, or that a definition of the catalog reads."""


def pin_table(use: TableUse, catalog: Catalog, registry: Registry | None, *, offline: bool = False) -> Pin:
    """Return the version that a run reads of a table.

    `catalog` is the one without the registry's versions: what it does not hold is a registered dataset.
    """
    dataset = use.dataset.model
    reason = "pinned" if use.pinned_version is not None else "latest active"
    if catalog.list_dataset_versions(dataset.id):
        if dataset.resolver_id != REGISTRY_RESOLVER_ID or offline:
            return Pin(use, dataset.version, reason)
        name = find_registered_name(catalog, registry, use.table.name)
        found = registry.find_version(name) if registry is not None and name is not None else None
        return Pin(use, dataset.version, reason, True, found, name)
    if offline:
        return Pin(use, use.pinned_version or dataset.version, reason, True)
    # The version that was checked, not a newer one that was registered meanwhile.
    wanted = dataset.version if use.dataset.file == REGISTRY_FILE else use.pinned_version
    registered = registry.find_version(dataset.id, wanted) if registry is not None else None
    version = registered.version if registered else use.pinned_version or dataset.version
    return Pin(use, version, reason, True, registered, dataset.name)


def report_unregistered(pin: Pin) -> Problem:
    """Return the problem of a dataset that some project registers, but that no run has registered yet."""
    if pin.use.dataset.file != REGISTRY_FILE and pin.registered_name != pin.use.dataset.model.name:
        table, name = pin.use.table.name, pin.use.dataset.model.name
        hint = f"run the project that registers '{pin.registered_name}' first, or write `on_missing: empty`"
        if pin.registered_name is None:
            hint = "name the table like a dataset that a project registers; characters that no name has become _"
        message = f"dataset '{name}' reads the registered dataset with the table '{table}', and there is none yet"
        return Problem("DATA_001", message, hint, pin.use.location)
    what = {"join": "join", "append": "source dataset"}.get(pin.use.role, "dataset")
    missing = DatasetAnswer(None, "not_found").describe(what, pin.use.reference, None)
    assert missing is not None
    hint = f"no run has registered '{pin.use.dataset.model.name}' yet: run the project that registers it first"
    return Problem(*missing, hint, pin.use.location)

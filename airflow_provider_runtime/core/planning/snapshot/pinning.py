"""The version of every dataset that a run reads: as pinned, else the latest active one, chosen once."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.planning.check.checked import TableUse
from airflow_provider_runtime.core.planning.check.registered import REGISTRY_FILE
from airflow_provider_runtime.core.registry.ports import DatasetVersion, Registry


@dataclass(frozen=True, slots=True)
class Pin:
    """A table at its version; `registered` holds the slices when the registry knows the dataset."""

    use: TableUse
    version: int
    reason: str
    is_registered: bool = False
    registered: DatasetVersion | None = None


def pin_table(use: TableUse, catalog: Catalog, registry: Registry | None, *, offline: bool = False) -> Pin:
    """Return the version that a run reads of a table.

    `catalog` is the one without the registry's versions: what it does not hold is a registered dataset.
    """
    dataset = use.dataset.model
    reason = "pinned" if use.pinned_version is not None else "latest active"
    if catalog.list_dataset_versions(dataset.id):
        return Pin(use, dataset.version, reason)
    if offline:
        return Pin(use, use.pinned_version or dataset.version, reason, True)
    # The version that was checked, not a newer one that was registered meanwhile.
    wanted = dataset.version if use.dataset.file == REGISTRY_FILE else use.pinned_version
    registered = registry.find_version(dataset.id, wanted) if registry is not None else None
    version = registered.version if registered else use.pinned_version or dataset.version
    return Pin(use, version, reason, True, registered)


def report_unregistered(pin: Pin) -> Problem:
    """Return the problem of a dataset that some project registers, but that no run has registered yet."""
    codes: dict[str, tuple[Code, str]] = {
        "join": ("JOIN_001", f"Dataset {pin.use.reference} not found in MetadataStore"),
        "append": ("APPEND_001", f"source dataset '{pin.use.reference}' not found"),
    }
    code, message = codes.get(pin.use.role, ("DATASET_001", f"dataset '{pin.use.reference}' not found"))
    hint = f"no run has registered '{pin.use.dataset.model.name}' yet: run the project that registers it first"
    return Problem(code, message, hint, pin.use.location)

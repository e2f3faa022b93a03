"""Finding the dataset that a reference means, as pinned or the latest active version."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.suggest import suggest


@dataclass(frozen=True, slots=True)
class DatasetAnswer:
    """A dataset, or why it is missing."""

    definition: Definition[Dataset] | None
    reason: str = ""
    """not_found, version, disabled, or broken (reported elsewhere); empty when it was found."""
    hint: str | None = None


def find_dataset_version(catalog: Catalog, reference: str, version: int | None) -> DatasetAnswer:
    """Look a dataset up by id or name, as pinned or the latest active version."""
    versions = catalog.list_dataset_versions(reference)
    if catalog.is_broken("dataset", reference):
        return DatasetAnswer(None, "broken")
    if not versions:
        return DatasetAnswer(None, "not_found", suggest(reference, list_dataset_names(catalog)))
    if version is None:
        active = [definition for definition in versions if definition.model.status == "active"]
        if not active:
            return DatasetAnswer(None, "disabled", "activate a version of the dataset, or name another one")
        return DatasetAnswer(active[-1])
    found = next((definition for definition in versions if definition.model.version == version), None)
    if found is None:
        known = ", ".join(str(definition.model.version) for definition in versions[-8:])
        return DatasetAnswer(None, "version", f"known versions: {known}")
    if found.model.status != "active":
        return DatasetAnswer(None, "disabled", f"version {version} is disabled: pin an active one")
    return DatasetAnswer(found)


def describe_missing(what: str, reference: str, version: int | None, answer: DatasetAnswer) -> tuple[Code, str] | None:
    """Return code and message for a dataset that is not there; None when the reason is reported elsewhere."""
    reasons: dict[str, tuple[Code, str]] = {
        "not_found": ("DATASET_001", f"{what} '{reference}' not found"),
        "disabled": ("DATASET_002", f"{what} '{reference}' is disabled"),
        "version": ("DATASET_003", f"{what} '{reference}' has no version {version}"),
    }
    return reasons.get(answer.reason)


def list_dataset_names(catalog: Catalog) -> list[str]:
    """Return every name and id that a reference to a dataset may use."""
    names = {definition.model.name for definition in catalog.datasets.values()}
    names |= {registration.name for registration in catalog.registrations}
    return sorted(names | {definition.model.id for definition in catalog.datasets.values()})

"""Finding the dataset that a reference means, as pinned or the latest active version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.suggest import suggest

Reason = Literal["not_found", "version", "disabled", "broken"]
_MISSING: dict[Reason, tuple[Code, str]] = {
    "not_found": ("DATASET_001", "{what} '{reference}' not found"),
    "disabled": ("DATASET_002", "{what} '{reference}' is disabled"),
    "version": ("DATASET_003", "{what} '{reference}' has no version {version}"),
}
_MISSING_AS: dict[str, dict[Reason, tuple[Code, str]]] = {
    "join": {
        "not_found": ("JOIN_001", "Dataset {reference} not found in MetadataStore"),
        "disabled": ("JOIN_002", "Dataset {reference} is disabled and cannot be used in joins"),
        "version": ("JOIN_003", "Dataset {reference} version {version} not found"),
    },
    "source dataset": {
        "not_found": ("APPEND_001", "{what} '{reference}' not found"),
        "version": ("APPEND_002", "{what} '{reference}' has no version {version}"),
    },
}


@dataclass(frozen=True, slots=True)
class DatasetAnswer:
    """A dataset, or why it is missing."""

    definition: Definition[Dataset] | None
    reason: Reason | None = None
    """Why it is missing; `broken` is reported elsewhere."""
    hint: str | None = None

    @property
    def key(self) -> str:
        """The key of a reference that is at fault: `dataset_id`, or `dataset_version`."""
        return "dataset_version" if self.reason == "version" else "dataset_id"

    def describe(self, what: str, reference: str, version: int | None) -> tuple[Code, str] | None:
        """Return code and message for a dataset that is missing; None when the reason is reported elsewhere.

        `what` says what it is read as: a `join` and a `source dataset` have codes of their own.
        """
        if self.reason is None or self.reason == "broken":
            return None
        code, message = {**_MISSING, **_MISSING_AS.get(what, {})}[self.reason]
        return code, message.format(what=what, reference=reference, version=version)


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


def list_dataset_names(catalog: Catalog) -> list[str]:
    """Return every name and id that a reference to a dataset may use."""
    names = {definition.model.name for definition in catalog.datasets.values()}
    names |= {registration.name for registration in catalog.registrations}
    return sorted(names | {definition.model.id for definition in catalog.datasets.values()})

"""What must be published before a period of a project that waits for earlier periods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.needs import list_project_references
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.planning.check.registered import find_registered_name
from airflow_provider_runtime.core.registry.ports import Registry


@dataclass(frozen=True, slots=True)
class EarlierPeriod:
    """A period of a project, published or not."""

    project: Definition[Project]
    period: Period

    def describe(self, own: Definition[Project]) -> str:
        """Return how a log names it."""
        name = self.period.identifier
        return name if self.project.model.id == own.model.id else f"{name} of project '{self.project.model.name}'"


def list_unpublished(
    catalog: Catalog, definition: Definition[Project], index: PeriodIndex, period: Period, registry: Registry
) -> list[EarlierPeriod]:
    """Return what is not published yet: the project's period before, and the earlier ones of what it reads shifted.

    A period that begins before its project's `start_date` is not waited for.
    """
    unpublished: dict[tuple[str, str], EarlierPeriod] = {}
    for earlier in _list_earlier(catalog, definition, index, period, registry):
        key = (earlier.project.model.id, earlier.period.identifier)
        if not _is_before_start(earlier) and not registry.is_published(*key):
            unpublished.setdefault(key, earlier)
    return list(unpublished.values())


def _list_earlier(
    catalog: Catalog, definition: Definition[Project], index: PeriodIndex, period: Period, registry: Registry
) -> Iterator[EarlierPeriod]:
    previous = index.find_previous(period)
    if previous is not None:
        yield EarlierPeriod(definition, previous)
    for reference in list_project_references(definition.model):
        dataset = catalog.find_dataset(reference)
        if dataset is None or not dataset.model.period_shift:
            continue
        shifted = index.find_shifted(period, dataset.model.period_shift)
        project = _find_registering(catalog, dataset.model, registry)
        if project is not None and shifted is not None and project.model.level == period.level:
            yield EarlierPeriod(project, shifted)


def _find_registering(catalog: Catalog, dataset: Dataset, registry: Registry) -> Definition[Project] | None:
    if dataset.resolver_id != REGISTRY_RESOLVER_ID:
        return None
    name = find_registered_name(catalog, registry, dataset.main_table.name)
    registration = catalog.find_registration(name) if name is not None else None
    return registration.project if registration is not None else None


def _is_before_start(earlier: EarlierPeriod) -> bool:
    settings = earlier.project.model.airflow
    if settings is None or settings.start_date is None:
        return False
    return earlier.period.start_date < date.fromisoformat(settings.start_date[:10])

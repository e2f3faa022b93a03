"""Which version of each dataset a run reads, by which resolver, and from which locations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import raise_problems
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID, Resolver
from airflow_provider_runtime.core.planning.check.checked import TableUse
from airflow_provider_runtime.core.planning.resolve.resolver_choice import ResolverChoice, choose_resolver
from airflow_provider_runtime.core.planning.resolve.slices import locate_slices
from airflow_provider_runtime.core.planning.resolve.tables import (
    ResolveContext,
    ResolvedTable,
    resolve_before_first,
    resolve_table,
)
from airflow_provider_runtime.core.planning.resolve.versioned_tables import Reading, pin_locations
from airflow_provider_runtime.core.planning.snapshot.choices import TableChoice
from airflow_provider_runtime.core.planning.snapshot.day_of_rows import find_day_of_rows
from airflow_provider_runtime.core.planning.snapshot.pinning import Pin, pin_table, report_unregistered
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.tables import Location


@dataclass(frozen=True, slots=True)
class LocationRequest:
    """A table whose locations may be replaced."""

    use: TableUse
    dataset: Dataset
    dataset_version: int
    table: Table
    period: Period
    index: PeriodIndex


Locate = Callable[[LocationRequest, tuple[Location, ...]], tuple[Location, ...]]
"""Gets a table and the locations that its resolver chose, and returns those that are read instead."""


@dataclass(frozen=True, slots=True)
class TableChooser:
    """Makes the choices for the tables of a project."""

    catalog: Catalog
    """The catalog, without what the registry knows."""
    definition: Definition[Project]
    registry: Registry | None
    as_of: date | None
    locate: Locate | None
    read_properties: PropertyReader | None
    resolvers: dict[str, Definition[Resolver]] = field(default_factory=dict)
    """The resolvers that were chosen so far, by id."""

    @property
    def is_offline(self) -> bool:
        """Whether locations are served by the caller."""
        return self.locate is not None

    def choose(self, use: TableUse, context: ResolveContext, *, is_read: bool) -> TableChoice:
        """Choose; of a table that is not read only version and resolver."""
        pin = pin_table(use, self.catalog, self.registry, offline=self.is_offline)
        choice = self._choose_resolver(use)
        if (
            choice.definition is None
            and choice.id == REGISTRY_RESOLVER_ID
            and not self.is_offline
            and pin.registered is None
        ):
            if use.dataset.model.on_missing == "empty" and pin.registered_name is not None:
                return TableChoice(pin, choice, ResolvedTable(()))
            raise_problems([report_unregistered(pin)])
        if not is_read:
            return TableChoice(pin, choice, ResolvedTable(()))
        dataset = use.dataset.model
        period = context.index.find_shifted(context.period, dataset.period_shift)
        if period is None:
            empty = resolve_before_first(context, choice.definition, dataset, use.table, use.location)
            return TableChoice(pin, choice, empty)
        day = find_day_of_rows(use, context.index, context.period, self.as_of or context.period.start_date)
        resolved = self._resolve(pin, choice, replace(context, period=period), day)
        if self.locate is not None:
            request = LocationRequest(use, dataset, pin.version, use.table, period, context.index)
            resolved = replace(resolved, locations=self.locate(request, resolved.locations))
        return TableChoice(pin, choice, resolved)

    def _choose_resolver(self, use: TableUse) -> ResolverChoice:
        if self.is_offline and not self.catalog.resolvers and use.dataset.model.resolver_id is None:
            return ResolverChoice("scenario", 1, "system_default")
        choice = choose_resolver(self.catalog, self.definition, use.dataset.model, use.location)
        if choice.definition is not None:
            self.resolvers[choice.id] = choice.definition
        return choice

    def _resolve(self, pin: Pin, choice: ResolverChoice, context: ResolveContext, day: date | None) -> ResolvedTable:
        use, period = pin.use, context.period
        if choice.definition is not None:
            dataset = use.dataset.model.model_copy(update={"version": pin.version})
            resolved = resolve_table(context, choice.definition, dataset, use.table, use.location)
            if self.is_offline:
                return resolved
            reading = Reading(use.table, day, use.location)
            return replace(resolved, locations=pin_locations(resolved.locations, reading, self.read_properties))
        if pin.registered is None or self.is_offline:
            location = Location(kind="memory", period=period.identifier)
            return ResolvedTable((location,), (), period.level, (period.identifier,))
        return locate_slices(pin.registered, context.index, period, use.location, use.dataset.model)

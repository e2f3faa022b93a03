"""What a project's period would read: files with their fingerprints, and where and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import CatalogStrategy, Resolver
from airflow_provider_runtime.core.planning.resolve.slices import locate_slices
from airflow_provider_runtime.core.planning.resolve.tables import ResolveContext, resolve_table
from airflow_provider_runtime.core.planning.resolve.versioned_tables import Reading, pin_locations
from airflow_provider_runtime.core.planning.snapshot.day_of_rows import find_day_of_rows, find_own_day
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.basis import TableBasis, digest_places, sort_days
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, ComparedTable
from airflow_provider_runtime.core.registry.ports import RunRecord
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.tables import Location

Fingerprint = Callable[[Sequence[Location]], str | None]
"""Returns the digest of the files at locations, None when they cannot be listed."""
MISSING = "missing"
"""Stands for the fingerprint where nothing can be located: a run would say why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table as a run would read it now."""

    fingerprint: str | None
    basis: TableBasis


@dataclass(slots=True)
class SourceFinder:
    """Finds sources; what several projects read is looked at once."""

    catalog: Catalog
    fingerprint: Fingerprint
    today: date
    snapshots: RunSnapshots
    read_properties: PropertyReader | None = None
    """Returns what the credential of a table's catalog or store stands for."""
    _found: dict[tuple[object, ...], tuple[str | None, str | None]] = field(default_factory=dict)

    def find(
        self, project: ComparedProject, period: Period, published: RunRecord | None
    ) -> dict[tuple[str, str], Source]:
        """Return the sources of a project's period by dataset and table."""
        found = {}
        for table in project.tables:
            uses = [other for other in project.tables if other.key == table.key]
            days = sort_days(find_own_day(other.use, project.index, period) for other in uses)
            fingerprint, places = self._look(project, uses, period, published)
            found[table.key] = Source(fingerprint, TableBasis(table.choice.description, places, days))
        return found

    def _look(
        self, project: ComparedProject, uses: Sequence[ComparedTable], period: Period, published: RunRecord | None
    ) -> tuple[str | None, str | None]:
        """Return the fingerprint of a table's files, and the digest of where and how they are read."""
        table = uses[0]
        # Of an Iceberg or Delta table, a run reads the files that may have rows of its days.
        is_by_day = any(found.use.table.temporal_mode == "bitemporal" for found in uses)
        run = (project.id, published.snapshot_sha256 if published is not None else None) if is_by_day else None
        choice, index = table.choice, project.index
        key = (table.key, table.pin.version, choice.id, index.calendar_id, period.level, period.identifier, run)
        if key not in self._found:
            self._found[key] = (None, None)
            if choice.definition is None or not _asks_elsewhere(choice.definition.model):
                self._found[key] = self._read(project, uses, period, published)
        return self._found[key]

    def _read(
        self, project: ComparedProject, uses: Sequence[ComparedTable], period: Period, published: RunRecord | None
    ) -> tuple[str | None, str | None]:
        places = None
        try:
            locations = self._locate(project, uses[0], period)
            if uses[0].choice.definition is not None and not _is_secret(locations):
                places = digest_places(locations)
            if any(location.kind == "table" for location in locations):
                pinned = [self._pin(project, use, locations, period, published) for use in uses]
                locations = tuple(location for found in pinned for location in found)
            return self.fingerprint(locations), places
        except RuntimeProviderError as error:
            # Who does not answer may still have the same.
            is_unknown = error.retryable or error.code == "CATALOG_004"
            return (None, places) if is_unknown else (MISSING, None)

    def _pin(
        self,
        project: ComparedProject,
        table: ComparedTable,
        locations: Sequence[Location],
        period: Period,
        published: RunRecord | None,
    ) -> tuple[Location, ...]:
        is_by_day = table.use.table.temporal_mode == "bitemporal" and published is not None
        snapshot = self.snapshots.find(published) if is_by_day and published is not None else None
        as_of = snapshot.as_of if snapshot is not None else period.start_date
        day = find_day_of_rows(table.use, project.index, period, as_of)
        return pin_locations(locations, Reading(table.use.table, day, table.use.location), self.read_properties)

    def _locate(self, project: ComparedProject, table: ComparedTable, period: Period) -> tuple[Location, ...]:
        shifted = project.index.find_shifted(period, table.use.dataset.model.period_shift)
        if shifted is None:
            return ()
        if table.choice.definition is None:
            if table.pin.registered is None:
                return ()
            place, registered = table.use.location, table.use.dataset.model
            return locate_slices(table.pin.registered, project.index, shifted, place, registered).locations
        now = datetime.combine(self.today, time(), UTC)
        run = RunConstants.of(now, period, project.index.find_previous(period))
        context = ResolveContext(self.catalog, project.name, project.index, shifted, run)
        dataset = table.use.dataset.model.model_copy(update={"version": table.pin.version})
        return resolve_table(context, table.choice.definition, dataset, table.use.table, table.use.location).locations


def _is_secret(locations: Sequence[Location]) -> bool:
    """Return whether a table can be asked for its version with a secret only."""
    return any(location.kind == "table" and location.credential_ref for location in locations)


def _asks_elsewhere(resolver: Resolver) -> bool:
    """Return whether only a service or a class knows where the data are; a plan asks neither."""
    is_service = any(isinstance(rule.strategy, CatalogStrategy) for rule in resolver.rules)
    return is_service or resolver.class_ is not None

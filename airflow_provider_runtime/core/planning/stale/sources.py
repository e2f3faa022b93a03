"""What there is to read for a project's period: files with their fingerprint, and where and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import CatalogStrategy
from airflow_provider_runtime.core.planning.resolve.slices import locate_slices
from airflow_provider_runtime.core.planning.resolve.tables import ResolveContext, resolve_table
from airflow_provider_runtime.core.planning.resolve.versioned_tables import Reading, pin_locations
from airflow_provider_runtime.core.planning.snapshot.day_of_rows import find_day_of_rows, find_own_day
from airflow_provider_runtime.core.planning.stale.basis import TableBasis, digest_places, sort_days
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, ComparedTable
from spark_jobs.contract.plan import Location

Fingerprint = Callable[[Sequence[Location]], str | None]
"""Returns the digest of the files at locations, None when they cannot be listed."""
MISSING = "missing"
"""Stands for the fingerprint where nothing can be located: a run would tell why."""


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
    _found: dict[tuple[object, ...], tuple[str | None, str | None]] = field(default_factory=dict)

    def find(self, project: ComparedProject, period: Period) -> dict[tuple[str, str], Source]:
        """Return the sources of a project's period by dataset and table."""
        found = {}
        for table in project.tables:
            uses = [other for other in project.tables if other.key == table.key]
            days = sort_days(find_own_day(other.use, project.index, period) for other in uses)
            fingerprint, places = self._look(project, table, period)
            found[table.key] = Source(fingerprint, TableBasis(table.choice.description, places, days))
        return found

    def _look(self, project: ComparedProject, table: ComparedTable, period: Period) -> tuple[str | None, str | None]:
        """Return the fingerprint of a table's files, and the digest of where and how they are read."""
        choice = table.choice
        key = (table.key, table.pin.version, choice.id, project.index.calendar_id, period.level, period.identifier)
        if key not in self._found:
            self._found[key] = (None, None)
            if choice.definition is None or not _asks_elsewhere(choice.definition.model):
                self._found[key] = self._read(project, table, period)
        return self._found[key]

    def _read(self, project: ComparedProject, table: ComparedTable, period: Period) -> tuple[str | None, str | None]:
        try:
            locations = self._locate(project, table, period)
            places = None if table.choice.definition is None or _is_secret(locations) else digest_places(locations)
            if not _is_secret(locations):
                day = find_day_of_rows(table.use, project.index, period, period.start_date)
                locations = pin_locations(locations, Reading(table.use.table, day, table.use.location), None)
            return self.fingerprint(locations), places
        except RuntimeProviderError:
            return MISSING, None

    def _locate(self, project: ComparedProject, table: ComparedTable, period: Period) -> tuple[Location, ...]:
        if table.choice.definition is None:
            if table.pin.registered is None:
                return ()
            return locate_slices(table.pin.registered, project.index, period, table.use.location).locations
        now = datetime.combine(self.today, time(), UTC)
        shifted = project.index.find_shifted(period, table.use.dataset.model.period_shift)
        if shifted is None:
            return ()
        run = RunConstants.of(now, period, project.index.find_previous(period))
        context = ResolveContext(self.catalog, project.name, project.index, shifted, run)
        dataset = table.use.dataset.model.model_copy(update={"version": table.pin.version})
        return resolve_table(context, table.choice.definition, dataset, table.use.table, table.use.location).locations


def _is_secret(locations: Sequence[Location]) -> bool:
    """Return whether a table can be asked for its version with a secret only; nobody is asked for secrets by a look."""
    return any(location.kind == "table" and location.credential_ref for location in locations)


def _asks_elsewhere(resolver: object) -> bool:
    """Return whether only a service or a class knows where the data are; a plan asks neither."""
    rules = getattr(resolver, "rules", ())
    return getattr(resolver, "class_", None) is not None or any(isinstance(r.strategy, CatalogStrategy) for r in rules)

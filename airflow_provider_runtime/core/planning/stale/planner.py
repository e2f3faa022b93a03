"""The state of projects and periods, without Spark: what each run was and read, against what is there now."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import NoReturn

from airflow_provider_runtime.core.calendar.periods import RANGE_SEPARATOR, PeriodIndex
from airflow_provider_runtime.core.calendar.run_period import StatusReader, find_strictest
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.errors import PeriodError, Problem, raise_problems
from airflow_provider_runtime.core.model.period import Period, PeriodStatus
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject, TableUse
from airflow_provider_runtime.core.planning.check.project import ProjectChecks
from airflow_provider_runtime.core.planning.check.registered import add_registered_versions
from airflow_provider_runtime.core.planning.check.validation import check_needed, get_project, list_runnable
from airflow_provider_runtime.core.planning.resolve.resolver_choice import choose_resolver
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods
from airflow_provider_runtime.core.planning.snapshot.compile import resolve_destinations
from airflow_provider_runtime.core.planning.snapshot.pinning import pin_table
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.basis import describe_output
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, ComparedTable, merge_names
from airflow_provider_runtime.core.planning.stale.compared_basis import compare_basis
from airflow_provider_runtime.core.planning.stale.due import find_start, list_due, list_in_range
from airflow_provider_runtime.core.planning.stale.past import PastRuns
from airflow_provider_runtime.core.planning.stale.past_definitions import PastDefinitions
from airflow_provider_runtime.core.planning.stale.plan import Entry, Plan, Reason, Scope, State, Work, order_entries
from airflow_provider_runtime.core.planning.stale.signatures import SourceColumn, sign_outputs
from airflow_provider_runtime.core.planning.stale.sources import Fingerprint, Source, SourceFinder
from airflow_provider_runtime.core.registry.ports import PeriodRecord, Registry, RunRecord
from airflow_provider_runtime.core.tables.addresses import PropertyReader


@dataclass
class Planner:
    """Compares a catalog and a registry once; what several projects or periods need is found once."""

    loaded: LoadResult
    registry: Registry
    past: PastRuns
    fingerprint: Fingerprint
    snapshots: RunSnapshots
    scope: Scope
    read_properties: PropertyReader | None = None
    """Returns what the credential of a table's catalog or store stands for."""
    _wanted: Sequence[Definition[Project]] = ()
    _statuses: StatusReader | None = None
    _entries: dict[Work, Entry] = field(default_factory=dict)
    _changed: dict[Work, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Columns of registered datasets that a run of the period would change, by dataset."""
    _dependencies: dict[tuple[str, str], tuple[Work, ...]] = field(default_factory=dict)
    _starts: dict[Work, date] = field(default_factory=dict)
    _found_statuses: dict[tuple[str, str, str], PeriodStatus] = field(default_factory=dict)
    _projects: dict[str, ComparedProject] = field(default_factory=dict)
    _definitions: PastDefinitions = field(init=False)

    def __post_init__(self) -> None:
        self._definitions = PastDefinitions(self.loaded.catalog, self.registry, self.snapshots)

    def read(self, registry: Registry) -> None:
        """Read what the registry knows of the projects in scope; raise what is wrong with their definitions."""
        self._wanted = self._list_wanted(self.scope)
        self._check(registry)
        self._statuses = _Statuses.read(registry)
        self._definitions.find_edited(registry, [project.checked for project in self._projects.values()])

    def make_plan(self) -> Plan:
        """Return the plan of the projects and periods in scope, after the registry was read."""
        scope = self.scope
        found = {project.id: list(self._list_periods(project)) for project in self._projects.values()}
        if scope.period is not None and not any(found.values()):
            self._refuse_period(scope.period)
        ordered = self._order_projects()
        for project, period in self._order(found):
            self._assess(project, period)
        names = {definition.model.name for definition in self._wanted}
        chosen = [entry for work, entry in self._entries.items() if work.project in names]
        return Plan(order_entries(chosen, self._starts, [project.name for project in ordered]), scope)

    def _refuse_period(self, text: str) -> NoReturn:
        """Raise PERIOD_001 with what is wrong with a period, or a range, for which no project runs."""
        first, separator, last = (part.strip() for part in text.partition(RANGE_SEPARATOR))
        for project in self._projects.values():
            has_both = bool(first and last) or not separator
            ends = [project.index.get_period(end) for end in (first, last or first)] if has_both else []
            if not ends or ends[1].start_date < ends[0].start_date:
                project.index.list_range(text, ends[0].level if ends else project.definition.model.level)
        raise PeriodError(Problem("PERIOD_001", f"no project runs for '{text}'", "see `airflow-runtime periods`"))

    # Projects

    def _list_wanted(self, scope: Scope) -> list[Definition[Project]]:
        if scope.project is None:
            return [found for found in list_runnable(self.loaded.catalog) if found.model.status == "active"]
        return [get_project(self.loaded, scope.project)]

    def _check(self, registry: Registry) -> None:
        """Check the projects, and those that register what they read."""
        known = add_registered_versions(self.loaded.catalog, self._wanted, registry)
        checks = ProjectChecks(known)
        problems: list[Problem] = []
        for definition in self._wanted:
            _, found = check_needed(known, self.loaded, definition, checks)
            problems += [problem for problem in found if problem.severity == "error"]
        raise_problems(list(dict.fromkeys(problems)))
        for checked in checks.list_checked():
            self._projects[checked.definition.model.id] = self._read_project(checked, registry)

    def _read_project(self, checked: CheckedProject, registry: Registry) -> ComparedProject:
        index = get_project_periods(self.loaded.catalog, checked.definition)
        tables = tuple(self._read_table(checked, use, registry) for use in checked.read_tables)
        is_draft = checked.definition.model.status == "draft"
        found = {} if is_draft else resolve_destinations(checked)
        places = {seq: describe_output(destination) for seq, destination in found.items()}
        return ComparedProject(checked.definition, checked, index, sign_outputs(checked), tables, places)

    def _read_table(self, checked: CheckedProject, use: TableUse, registry: Registry) -> ComparedTable:
        pin = pin_table(use, self.loaded.catalog, registry)
        choice = choose_resolver(self.loaded.catalog, checked.definition, use.dataset.model, use.location)
        return ComparedTable(use, pin, choice)

    def _order_projects(self) -> list[ComparedProject]:
        done: dict[str, ComparedProject] = {}
        met: set[str] = set()

        def place(project: ComparedProject) -> None:
            # Projects may read each other, or themselves: such a cycle is cut where it was entered.
            if project.id in met:
                return
            met.add(project.id)
            for upstream in self._list_upstream(project):
                place(upstream)
            done[project.id] = project

        for project in self._projects.values():
            place(project)
        return list(done.values())

    def _list_upstream(self, project: ComparedProject) -> Iterator[ComparedProject]:
        for table in project.tables:
            upstream = self._find_registering(table)
            if upstream is not None:
                yield upstream

    def _order(self, found: Mapping[str, Sequence[Period]]) -> Iterator[tuple[ComparedProject, Period]]:
        """Yield projects and periods after those that they read from, which may be earlier periods of their own."""
        projects = {project.name: project for project in self._projects.values()}
        works = {
            Work(project.name, period.identifier): period
            for project in projects.values()
            for period in found[project.id]
        }
        done: set[Work] = set()
        for first in works:
            waiting = [] if first in done else [(first, self._find_dependencies(projects[first.project], works[first]))]
            done.add(first)
            while waiting:
                work, needed = waiting[-1]
                following = next((found for found in needed if found in works and found not in done), None)
                if following is None:
                    waiting.pop()
                    yield projects[work.project], works[work]
                else:
                    done.add(following)
                    dependencies = self._find_dependencies(projects[following.project], works[following])
                    waiting.append((following, dependencies))

    def _find_registering(self, table: ComparedTable) -> ComparedProject | None:
        if table.pin.registered_name is None or table.choice.definition is not None:
            return None
        registration = self.loaded.catalog.find_registration(table.pin.registered_name)
        return self._projects.get(registration.project.model.id) if registration is not None else None

    # Periods

    def _list_periods(self, project: ComparedProject) -> Iterator[Period]:
        level = project.definition.model.level
        if self.scope.period is not None:
            return list_in_range(project.index, level, self.scope.period)
        ran = self.past.list_periods(project.id)
        return list_due(project.index, level, ran, find_start(project.definition.model), self.scope.today)

    # One project's period

    def _assess(self, project: ComparedProject, period: Period) -> None:
        work = Work(project.name, period.identifier)
        key = (project.id, period.identifier)
        latest, published = self.past.latest.get(key), self.past.published.get(key)
        depends_on = self._find_dependencies(project, period)
        sources = self._sources.find(project, period, published)
        reasons: tuple[Reason, ...] = ()
        if published is not None:
            reasons = tuple(self._list_reasons(project, period, published, sources, depends_on))
        status = self._find_status(project.index, period)
        state = self._find_state(latest, published, reasons)
        basis = [
            project.definition.digest,
            None if latest is None else [latest.snapshot_sha256, state, latest.attempt],
            None if published is None else [published.snapshot_sha256, str(published.published_at)],
            [(table.key, table.pin.version, sources[table.key]) for table in project.tables],
            (period.start_date, period.end_date),
            status,
        ]
        self._starts[work] = period.start_date
        unknown = () if published is None else tuple(_list_unknown(project, sources))
        has_begun = period.start_date <= self.scope.today
        self._entries[work] = Entry(work, state, status, reasons, depends_on, unknown, has_begun, _hash(basis))

    def _find_state(self, latest: RunRecord | None, published: RunRecord | None, reasons: Sequence[Reason]) -> State:
        if latest is not None and latest.status == "running":
            return "running" if self.registry.is_at_work(latest) else "failed"
        if latest is not None and latest.is_waiting(datetime.now(UTC)):
            return "staged"
        if latest is not None and latest.status in ("failed", "revoked"):
            return "failed"
        if published is None:
            return "missing"
        return "stale" if reasons else "fresh"

    @cached_property
    def _sources(self) -> SourceFinder:
        today, snapshots = self.scope.today, self.snapshots
        return SourceFinder(self.loaded.catalog, self.fingerprint, today, snapshots, self.read_properties)

    def _find_status(self, index: PeriodIndex, period: Period) -> PeriodStatus:
        """Return the status of a period, which most projects share."""
        key = (index.calendar_id, period.level, period.identifier)
        if key not in self._found_statuses:
            self._found_statuses[key] = find_strictest(index, period, self._statuses).status
        return self._found_statuses[key]

    def _find_dependencies(self, project: ComparedProject, period: Period) -> tuple[Work, ...]:
        """Return the periods of projects that a run of this one reads from."""
        key = (project.id, period.identifier)
        if key not in self._dependencies:
            self._dependencies[key] = tuple(dict.fromkeys(self._list_dependencies(project, period)))
        return self._dependencies[key]

    def _list_dependencies(self, project: ComparedProject, period: Period) -> Iterator[Work]:
        for table in project.tables:
            upstream = self._find_registering(table)
            shifted = project.index.find_shifted(period, table.use.dataset.model.period_shift)
            if upstream is None or shifted is None or (upstream.id == project.id and shifted == period):
                continue
            level = upstream.definition.model.level
            for found in project.index.list_at(shifted, level) if level in project.index.levels else ():
                yield Work(upstream.name, found.identifier)

    def _list_reasons(
        self,
        project: ComparedProject,
        period: Period,
        run: RunRecord,
        sources: Mapping[tuple[str, str], Source],
        depends_on: Sequence[Work],
    ) -> Iterator[Reason]:
        own: list[Reason] = [*self._definitions.list_reasons(project, run)]
        other = compare_basis(project, period, run, sources)
        own += other.reasons
        own += self._list_table_reasons(project, run, sources, other.moved)
        # What only checks read, or operations whose rows no output has, changes nothing that is published.
        own = [reason for reason in own if reason.columns]
        changed = self._list_registered_changes(project, run, own)
        for reason in self._list_upstream_reasons(project, depends_on):
            own.append(reason)
            for dataset, columns in self._list_affected_datasets(project, reason.columns).items():
                changed[dataset] = merge_names([changed.get(dataset, ()), columns])
        self._changed[Work(project.name, period.identifier)] = changed
        yield from own

    def _list_table_reasons(
        self,
        project: ComparedProject,
        run: RunRecord,
        sources: Mapping[tuple[str, str], Source],
        moved: Collection[tuple[str, str]],
    ) -> Iterator[Reason]:
        read = {(str(source["dataset_id"]), str(source["table"])): source for source in run.sources}
        for table in {found.key: found for found in project.tables}.values():
            source = read.get(table.key)
            if source is None:
                continue
            name, version = table.use.dataset.model.name, table.pin.version
            now, then = sources[table.key].fingerprint, source.get("fingerprint")
            has_other_files = now is not None and then is not None and now != then
            if int(source["version"]) != version and (has_other_files or not table.pin.is_registered):
                detail = f"dataset '{name}' has version {version}, the run read version {source['version']}"
                yield Reason("version", detail, project.list_affected(table.columns))
            elif self._definitions.is_edited("dataset", table.use.dataset.model.id, version):
                detail = f"version {version} of dataset '{name}' was edited after use: give it a new version"
                yield Reason("version", detail, project.list_affected(table.columns))
            elif has_other_files and table.key not in moved:
                detail = f"the files of '{name}' are not those that the run read"
                yield Reason("source", detail, project.list_affected(table.columns))

    def _list_upstream_reasons(self, project: ComparedProject, depends_on: Sequence[Work]) -> Iterator[Reason]:
        for work in depends_on:
            entry = self._entries.get(work)
            if entry is None or not entry.reasons:
                continue
            for dataset, names in self._changed.get(work, {}).items():
                tables = [table for table in project.tables if table.pin.registered_name == dataset]
                changed = [column for table in tables for column in table.columns if column.column in names]
                rows = [SourceColumn(*table.key) for table in tables if table.has_only(names)]
                columns = project.list_affected([*changed, *rows])
                if columns:
                    yield Reason("upstream", f"{work.project}, {work.period} is stale", columns)

    def _list_registered_changes(
        self, project: ComparedProject, run: RunRecord, reasons: Sequence[Reason]
    ) -> dict[str, tuple[str, ...]]:
        """Return the columns of the datasets that it registers which a run would change."""
        change = self._definitions.compare(project, run)
        found = {c.registers: c.columns for c in (change.outputs if change is not None else ()) if c.registers}
        touched = merge_names(reason.columns for reason in reasons if reason.kind != "definition")
        for dataset, columns in self._list_affected_datasets(project, touched).items():
            found[dataset] = merge_names([found.get(dataset, ()), columns])
        return found

    def _list_affected_datasets(self, project: ComparedProject, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {
            output.registers: tuple(name for name in output.columns if name in columns)
            for output in project.outputs.values()
            if output.registers is not None and not set(columns).isdisjoint(output.columns)
        }


@dataclass(frozen=True, slots=True)
class _Statuses:
    """All statuses of all calendars, asked for once."""

    records: Mapping[tuple[str, str], PeriodRecord]

    @classmethod
    def read(cls, registry: Registry) -> _Statuses:
        """Return what a registry knows now."""
        return cls({(record.calendar, record.period): record for record in registry.list_periods()})

    def get_period(self, calendar: str, period: str) -> PeriodRecord:
        """Return the status of a period; open when nobody has set it."""
        return self.records.get((calendar, period)) or PeriodRecord(calendar, period, "open")


def _list_unknown(project: ComparedProject, sources: Mapping[tuple[str, str], Source]) -> Iterator[str]:
    names = {table.key: table.use.dataset.model.name for table in project.tables}
    return (name for key, name in names.items() if sources[key].fingerprint is None)


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()

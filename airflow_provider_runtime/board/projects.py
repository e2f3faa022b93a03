"""The projects that DAGs run, each with its catalog, the state of its periods, and its last runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import is_
from pathlib import Path
from typing import Any

from fastapi import HTTPException

from airflow_provider_runtime.board.catalogs import CatalogCache, open_registry
from airflow_provider_runtime.board.dags import ProjectDag, list_project_dags
from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.validation import explain_missing
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.making import make_plan
from airflow_provider_runtime.core.planning.stale.past import PastRuns, collect_past_runs
from airflow_provider_runtime.core.planning.stale.plan import Entry, Plan, Scope
from airflow_provider_runtime.core.registry.ports import PeriodRecord, Registry, RunRecord
from airflow_provider_runtime.hooks.credentials import read_properties
from airflow_provider_runtime.hooks.runtime import RuntimeHook

_catalogs = CatalogCache()
MOST_PROBLEMS = 3
FILES_SECONDS = 15.0
"""How long files that projects read are taken to be as they were; runs and periods are asked for each time."""


@dataclass(frozen=True)
class Sight:
    """The state of a catalog and a registry."""

    plan: Plan
    past: PastRuns
    statuses: Mapping[tuple[str, str], PeriodRecord]
    ordered: dict[str, Sequence[tuple[Period, Entry]]] = field(default_factory=dict)
    """The entries of projects in the order of their periods, as far as somebody has asked."""

    def get_period(self, calendar: str, period: str) -> PeriodRecord:
        """Return the status of a period; open when nobody has set it."""
        return self.statuses.get((calendar, period)) or PeriodRecord(calendar, period, "open")

    @cached_property
    def entries(self) -> Mapping[str, Sequence[Entry]]:
        """The plan's entries by project."""
        found: dict[str, list[Entry]] = {}
        for entry in self.plan.entries:
            found.setdefault(entry.work.project, []).append(entry)
        return found


@dataclass(frozen=True)
class Defined:
    """A DAG's project, as its catalog defines it."""

    dag: ProjectDag
    definition: Definition[Project]
    loaded: LoadResult

    @property
    def project(self) -> Project:
        """The project's model."""
        return self.definition.model

    @cached_property
    def index(self) -> PeriodIndex:
        """The periods of the project's calendar."""
        return get_project_periods(self.loaded.catalog, self.definition)


@dataclass(frozen=True)
class Known(Defined):
    """A DAG's project, with the state of its catalog and registry."""

    sight: Sight

    @cached_property
    def entries(self) -> Sequence[tuple[Period, Entry]]:
        """The project's periods that are due in this DAG or were run, with their states, in their order."""
        known = self.sight.ordered
        if self.project.name not in known:
            found = (
                (self.index.find_period(entry.work.period, self.project.level), entry)
                for entry in self.sight.entries.get(self.project.name, ())
            )
            placed = [(period, entry) for period, entry in found if period is not None]
            known[self.project.name] = sorted(placed, key=lambda item: item[0].start_date)
        end = self.dag.end_date
        if end is None:
            return known[self.project.name]
        return [item for item in known[self.project.name] if item[1].state != "missing" or item[0].start_date <= end]

    def find_latest(self, period: str) -> RunRecord | None:
        """Find the latest run of a period."""
        return self.sight.past.latest.get((self.project.id, period))

    def find_published(self, period: str) -> RunRecord | None:
        """Find the run whose rows readers see."""
        return self.sight.past.published.get((self.project.id, period))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A DAG's project of which nothing is known, and why."""

    dag_id: str
    project: str
    reason: str


@dataclass
class Found:
    """The projects of DAGs: those that could be read, and those that could not."""

    known: list[Known] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def find_projects(dag_ids: Collection[str]) -> Found:
    """Find the projects of DAGs; one look is taken at each catalog with its registry."""
    found = Found()
    for (root, conn_id), dags in _group(list_project_dags(dag_ids)):
        defined = _find_defined(root, dags, found.unreadable)
        try:
            sights = _take_sights(root, conn_id, defined) if defined else {}
        except RuntimeProviderError as error:
            found.unreadable += [Unreadable(d.dag.dag_id, d.project.name, describe(error)) for d in defined]
            continue
        for each in defined:
            sight = sights[each.project.name]
            if isinstance(sight, str):
                found.unreadable.append(Unreadable(each.dag.dag_id, each.project.name, sight))
            else:
                found.known.append(Known(each.dag, each.definition, each.loaded, sight))
    found.known.sort(key=lambda known: (known.project.name, known.dag.dag_id))
    return found


def get_defined(dag_id: str, project: str | None = None) -> Defined:
    """Return a DAG's project, the first where none is named; else say why nothing is known of it."""
    unreadable: list[Unreadable] = []
    for found in list_defined(dag_id, unreadable):
        if project in (None, found.project.name, found.project.id):
            return found
    raise _make_not_found(unreadable, project)


def list_defined(dag_id: str, unreadable: list[Unreadable]) -> Iterator[Defined]:
    """Yield a DAG's projects as their catalogs define them, and add why others cannot be read."""
    for (root, _), dags in _group(list_project_dags([dag_id])):
        yield from _find_defined(root, dags, unreadable)


def get_known(dag_id: str, project: str | None = None) -> Known:
    """Return a DAG's project as `get_defined` does, with the state of its periods."""
    found = find_projects([dag_id])
    for known in found.known:
        if project in (None, known.project.name, known.project.id):
            return known
    raise _make_not_found(found.unreadable, project)


def _make_not_found(unreadable: Sequence[Unreadable], project: str | None) -> HTTPException:
    reasons = [entry.reason for entry in unreadable if project in (None, entry.project)]
    return HTTPException(404, "\n".join(reasons) or "this DAG runs no such project")


def _group(dags: Iterable[ProjectDag]) -> Iterator[tuple[tuple[str, str], list[ProjectDag]]]:
    """Yield DAGs by their catalog and the connection to their registry."""
    for place, same in groupby(sorted(dags, key=_get_place), key=_get_place):
        yield place, list(same)


def _get_place(dag: ProjectDag) -> tuple[str, str]:
    try:
        return str(RuntimeHook(dag.runtime_conn_id).resolve_catalog_path(dag.catalog)), dag.runtime_conn_id
    except RuntimeProviderError:
        # What is wrong with the connection is reported when the registry is opened.
        return dag.catalog or "", dag.runtime_conn_id


def _find_defined(root: str, dags: Sequence[ProjectDag], unreadable: list[Unreadable]) -> list[Defined]:
    """Return the projects that a catalog defines, and add why others cannot be read."""
    loaded = _catalogs.load(Path(root)) if root else None
    found = []
    for dag in dags:
        definition = loaded.catalog.find_project(dag.project) if loaded is not None else None
        if loaded is None:
            reason = f"its catalog '{root}' is not a folder on the API server: mount it there too"
            unreadable.append(Unreadable(dag.dag_id, dag.project, reason))
        elif definition is None:
            problems = explain_missing(loaded, dag.project)
            unreadable.append(Unreadable(dag.dag_id, dag.project, "\n".join(map(_describe, problems[:MOST_PROBLEMS]))))
        else:
            found.append(Defined(dag, definition, loaded))
    return found


@dataclass
class _Look:
    """What was seen of a catalog with a registry, and of what."""

    loaded: LoadResult
    runs: Sequence[RunRecord]
    statuses: Mapping[tuple[str, str], PeriodRecord]
    taken_at: float
    whole: Sight | None = None
    single: dict[str, Sight | str] = field(default_factory=dict)

    def holds(self, loaded: LoadResult, runs: Sequence[RunRecord], statuses: Mapping[Any, PeriodRecord]) -> bool:
        """Return whether nothing has changed since; projects' files are looked at again after some seconds."""
        same = len(runs) == len(self.runs) and all(map(is_, runs, self.runs))
        is_new = time.monotonic() - self.taken_at < FILES_SECONDS
        return is_new and same and loaded is self.loaded and statuses == self.statuses


_looks: dict[tuple[str, str], _Look] = {}


def _take_sights(root: str, conn_id: str, defined: Sequence[Defined]) -> dict[str, Sight | str]:
    """Return what is seen of each project: the same for all, but where a mistake in one would hide the others."""
    names = [each.project.name for each in defined]
    loaded = defined[0].loaded
    with open_registry(conn_id) as registry:
        known = _looks.get((root, conn_id))
        runs = registry.list_last_runs(known.runs if known is not None else (), reports=False)
        statuses = {(record.calendar, record.period): record for record in registry.list_periods()}
        if known is None or not known.holds(loaded, runs, statuses):
            known = _looks[root, conn_id] = _Look(loaded, runs, statuses, time.monotonic())
            known.whole = _try_whole(known, registry, conn_id)
        if known.whole is not None:
            return dict.fromkeys(names, known.whole)
        for name in names:
            if name not in known.single:
                known.single[name] = _try_single(known, registry, conn_id, name)
        return {name: known.single[name] for name in names}


def _take_sight(look: _Look, registry: Registry, conn_id: str, scope: Scope) -> Sight:
    past = collect_past_runs(look.runs)
    snapshots = RunSnapshots(storage=RuntimeHook(conn_id).storage)
    return Sight(make_plan(look.loaded, registry, scope, snapshots, past, read_properties), past, look.statuses)


def _try_whole(look: _Look, registry: Registry, conn_id: str) -> Sight | None:
    try:
        return _take_sight(look, registry, conn_id, Scope())
    except RuntimeProviderError as error:
        if error.retryable:
            raise
        return None


def _try_single(look: _Look, registry: Registry, conn_id: str, name: str) -> Sight | str:
    try:
        return _take_sight(look, registry, conn_id, Scope(project=name))
    except RuntimeProviderError as error:
        if error.retryable:
            raise
        return describe(error)


def describe(error: RuntimeProviderError) -> str:
    """Return what is wrong and what to do, a line for each mistake."""
    return "\n".join(map(_describe, error.problems[:MOST_PROBLEMS]))


def _describe(problem: Problem) -> str:
    return f"{problem} ({problem.hint})" if problem.hint else str(problem)


def list_readable_projects(dag_ids: Iterable[str]) -> Iterator[str]:
    """Yield the names under which DAGs' tasks know their projects."""
    for dag in list_project_dags(list(dag_ids)):
        yield dag.project

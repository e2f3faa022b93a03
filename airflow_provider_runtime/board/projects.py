"""The projects that DAGs run, each with its catalog, the state of its periods, and its last runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from fastapi import HTTPException

from airflow_provider_runtime.board.catalogs import CatalogCache, open_registry
from airflow_provider_runtime.board.dags import ProjectDag, list_project_dags
from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.errors import RuntimeProviderError
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
_runs: dict[str, Sequence[RunRecord]] = {}
"""The last runs of each registry, by the id of its connection: what has not changed is not read again."""


@dataclass(frozen=True)
class Sight:
    """A catalog and a registry at one moment."""

    loaded: LoadResult
    plan: Plan
    past: PastRuns
    statuses: Mapping[tuple[str, str], PeriodRecord]

    @cached_property
    def entries(self) -> Mapping[str, Sequence[Entry]]:
        """The plan's entries by project."""
        found: dict[str, list[Entry]] = {}
        for entry in self.plan.entries:
            found.setdefault(entry.work.project, []).append(entry)
        return found


@dataclass(frozen=True)
class Known:
    """A DAG's project, with all that it stands among."""

    dag: ProjectDag
    definition: Definition[Project]
    sight: Sight

    @property
    def project(self) -> Project:
        """The project's model."""
        return self.definition.model

    @cached_property
    def index(self) -> PeriodIndex:
        """The periods of the project's calendar."""
        return get_project_periods(self.sight.loaded.catalog, self.definition)

    @cached_property
    def entries(self) -> Sequence[tuple[Period, Entry]]:
        """The project's periods that are due or were run, with their states, in their order."""
        level = self.project.level
        found = (
            (self.index.find_period(entry.work.period, level), entry)
            for entry in self.sight.entries.get(self.project.name, ())
        )
        return sorted(
            ((period, entry) for period, entry in found if period is not None), key=lambda item: item[0].start_date
        )

    def find_latest(self, period: str) -> RunRecord | None:
        """Find the latest run of a period."""
        return self.sight.past.latest.get((self.project.id, period))

    def find_published(self, period: str) -> RunRecord | None:
        """Find the run whose rows readers see."""
        return self.sight.past.published.get((self.project.id, period))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A DAG's project of which nothing can be told, and why."""

    dag_id: str
    project: str
    reason: str


@dataclass
class Found:
    """What is known of DAGs' projects, and of which nothing is."""

    known: list[Known] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def find_projects(dag_ids: Iterable[str]) -> Found:
    """Find the projects of DAGs; one look is taken at each catalog with its registry."""
    found = Found()
    dags = sorted(list_project_dags(list(dag_ids)), key=_get_place)
    for (root, conn_id), same in groupby(dags, key=_get_place):
        _look(root, conn_id, list(same), found)
    found.known.sort(key=lambda known: (known.project.name, known.dag.dag_id))
    return found


def get_known(dag_id: str, project: str | None = None) -> Known:
    """Return a DAG's project, the first where none is named; else say why nothing can be told of it."""
    found = find_projects([dag_id])
    for known in found.known:
        if project in (None, known.project.name, known.project.id):
            return known
    reasons = [entry.reason for entry in found.unreadable if project in (None, entry.project)]
    raise HTTPException(404, "\n".join(reasons) or "this DAG runs no such project")


def _get_place(dag: ProjectDag) -> tuple[str, str]:
    try:
        return str(RuntimeHook(dag.runtime_conn_id).resolve_catalog_path(dag.catalog)), dag.runtime_conn_id
    except RuntimeProviderError:
        # What is wrong with the connection is told when the registry is opened.
        return dag.catalog or "", dag.runtime_conn_id


def _look(root: str, conn_id: str, dags: Sequence[ProjectDag], found: Found) -> None:
    loaded = _catalogs.load(Path(root))
    if loaded is None:
        reason = f"its catalog {root} is not a folder on the API server: mount it there too"
        found.unreadable += [Unreadable(dag.dag_id, dag.project, reason) for dag in dags]
        return
    definitions = {dag.project: loaded.catalog.find_project(dag.project) for dag in dags}
    sights: dict[str, Sight | str] = {}
    try:
        with open_registry(conn_id) as registry:
            sights = _take_sights(loaded, registry, conn_id, [d for d in definitions.values() if d is not None])
    except RuntimeProviderError as error:
        found.unreadable += [Unreadable(dag.dag_id, dag.project, describe(error)) for dag in dags]
        return
    for dag in dags:
        definition = definitions[dag.project]
        if definition is None:
            problems = explain_missing(loaded.catalog, loaded, dag.project)
            reason = "; ".join(str(problem) for problem in problems[:3])
            found.unreadable.append(Unreadable(dag.dag_id, dag.project, reason))
            continue
        sight = sights[definition.model.name]
        if isinstance(sight, str):
            found.unreadable.append(Unreadable(dag.dag_id, definition.model.name, sight))
        else:
            found.known.append(Known(dag, definition, sight))


def _take_sights(
    loaded: LoadResult, registry: Registry, conn_id: str, definitions: Sequence[Definition[Project]]
) -> dict[str, Sight | str]:
    """Return what is seen of each project: the same for all, but where a mistake in one would hide the others."""
    names = [definition.model.name for definition in definitions]
    _runs[conn_id] = registry.list_last_runs(_runs.get(conn_id, ()))
    past = collect_past_runs(_runs[conn_id])
    statuses = {(record.calendar, record.period): record for record in registry.list_periods()}
    snapshots = RunSnapshots(storage=RuntimeHook(conn_id).storage)

    def take(scope: Scope) -> Sight:
        return Sight(loaded, make_plan(loaded, registry, scope, snapshots, past, read_properties), past, statuses)

    try:
        return dict.fromkeys(names, take(Scope()))
    except RuntimeProviderError as error:
        if error.retryable:
            raise
    return {name: _try_sight(take, Scope(project=name)) for name in names}


def _try_sight(take: Callable[[Scope], Sight], scope: Scope) -> Sight | str:
    try:
        return take(scope)
    except RuntimeProviderError as error:
        if error.retryable:
            raise
        return describe(error)


def describe(error: RuntimeProviderError) -> str:
    """Return what is wrong and what to do, a line for each mistake."""
    return "\n".join(f"{found} ({found.hint})" if found.hint else str(found) for found in error.problems[:3])


def list_readable_projects(dag_ids: Iterable[str]) -> Iterator[str]:
    """Yield the names under which DAGs' tasks know their projects."""
    for dag in list_project_dags(list(dag_ids)):
        yield dag.project

"""What a shell offers for an unfinished word: projects, periods and runs. It never fails, and creates nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.registries import choose_registry

if TYPE_CHECKING:
    from airflow_provider_runtime.core.catalog.loader import LoadResult
    from airflow_provider_runtime.core.registry.ports import RunRecord

MOST_RUNS = 50
ONE_WORD = re.compile(r"[\w.,:@%+=/-]+")
_EARLIER_YEARS = 2


def complete_projects(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the catalog's projects by name; by id where a shell would take the name for several words."""
    del param
    # Whatever is wrong here, a command says it better than a completion that prints over the line.
    with suppress(Exception):
        projects = [found.model for found in _load(context).catalog.projects.values()]
        names = (found.name if ONE_WORD.fullmatch(found.name) else found.id for found in projects)
        return _match(names, incomplete)
    return []


def complete_periods(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the project's periods of this year and the two before, the last of a range too."""
    del param
    with suppress(Exception):
        first, separator, begun = incomplete.rpartition("..")
        names = _list_periods(context)
        return [f"{first}{separator}{name}" for name in _match(names, begun) if not first or name >= first]
    return []


def complete_runs(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the latest runs that the registry knows."""
    del param
    with suppress(Exception):
        return _match((run.run_id for run in _list_runs(context)), incomplete)
    return []


def complete_staged_runs(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the runs that wait for a decision."""
    del param
    with suppress(Exception):
        return _match((run.run_id for run in _list_runs(context) if run.status == "staged"), incomplete)
    return []


def _match(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _find_catalog(context: click.Context) -> Path:
    from airflow_provider_runtime.cli.options import DEFAULT_CATALOG

    return Path(context.params.get("catalog") or DEFAULT_CATALOG)


def _load(context: click.Context) -> LoadResult:
    from airflow_provider_runtime.core.catalog.loader import load_catalog

    return load_catalog(_find_catalog(context))


def _list_periods(context: click.Context) -> list[str]:
    """Return the periods of the project that is named already, or of all projects, the latest first."""
    from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods

    loaded = _load(context)
    named = context.params.get("project")
    projects = [loaded.catalog.find_project(str(named))] if named else list(loaded.catalog.projects.values())
    today = datetime.now(UTC).date()
    found = {
        period
        for project in projects
        if project is not None
        for period in get_project_periods(loaded.catalog, project).iterate(
            project.model.level, date(today.year - _EARLIER_YEARS, 1, 1), today
        )
    }
    return [period.identifier for period in sorted(found, key=lambda period: period.start_date, reverse=True)]


def _list_runs(context: click.Context) -> list[RunRecord]:
    registry = choose_registry(context.params.get("registry"), _find_catalog(context)).open_to_read(quiet=True)
    try:
        found: list[RunRecord] = registry.list_runs(
            project=context.params.get("project"), period=context.params.get("period"), limit=MOST_RUNS
        )
        return found
    finally:
        registry.close()

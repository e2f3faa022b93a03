"""What `airflow-runtime run` runs: a project for its periods, or a snapshot again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.credentials import read_credential, read_properties
from airflow_provider_runtime.cli.registries import SLICES, SNAPSHOTS

if TYPE_CHECKING:
    from airflow_provider_runtime.cli.local_run import LocalRunner, RunResult
    from airflow_provider_runtime.core.catalog.loader import LoadResult
    from airflow_provider_runtime.core.registry.ports import Registry
    from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What was asked for on the command line."""

    project: str
    period: str
    as_of: date | None
    timestamp: datetime | None
    sandbox: str | None
    allow_closed: bool
    keep_going: bool
    state: Path


def _list_periods(loaded: LoadResult, request: RunRequest) -> tuple[str, ...]:
    from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods

    definition = loaded.catalog.find_project(request.project)
    if ".." not in request.period or definition is None:
        # Resolving says what is wrong with an unknown project or period.
        return (request.period,)
    index = get_project_periods(loaded.catalog, definition)
    return tuple(found.identifier for found in index.list_range(request.period, definition.model.level))


def _resolve(catalog: LoadResult, request: RunRequest, period: str, registry: Registry) -> Snapshot:
    from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot

    options = ResolveOptions(
        as_of=request.as_of,
        run_timestamp=request.timestamp,
        sandbox=request.sandbox,
        slice_store=str(request.state / SLICES),
        allow_closed=request.allow_closed,
    )
    return build_snapshot(
        catalog,
        request.project,
        period,
        options,
        registry=registry,
        read_credential=read_credential,
        read_properties=read_properties,
    )


def _load(catalog: Path, project: str) -> LoadResult:
    from airflow_provider_runtime.core.catalog.loader import load_catalog

    return load_catalog(catalog, project=project)


def run_periods(runner: LocalRunner, catalog: Path, request: RunRequest, registry: Registry) -> list[RunResult]:
    """Run the project for its periods, in order, and print the outcome of each."""
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError
    from airflow_provider_runtime.core.suggest import list_names

    try:
        loaded = _load(catalog, request.project)
        periods = _list_periods(loaded, request)
    except RuntimeProviderError as error:
        result = make_failed_result(request.period, error, project=request.project)
        print_result(result, catalog)
        return [result]
    results: list[RunResult] = []
    runner.runs = len(periods)
    for period in periods:
        result = _run_period(runner, loaded, request, period, registry)
        if result.snapshot is None and results and results[-1].problems == result.problems:
            click.echo(f"{period}: failed, for the same reason as {results[-1].period}", err=True)
        else:
            print_result(result, catalog)
        results.append(result)
        if not result.succeeded and not request.keep_going:
            break
    if len(results) < len(periods):
        left = periods[len(results) :]
        click.echo(f"stopped: {len(left)} periods were not run ({list_names(left)})", err=True)
    return results


def run_entry(runner: LocalRunner, catalog: Path, request: RunRequest, registry: Registry) -> RunResult:
    """Run the project for one period, as an entry of a plan, and print the outcome; other runs may follow."""
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError

    try:
        result = _run_period(runner, _load(catalog, request.project), request, request.period, registry)
    except RuntimeProviderError as error:
        result = make_failed_result(request.period, error, project=request.project)
    print_result(result, catalog)
    return result


def _run_period(
    runner: LocalRunner, loaded: LoadResult, request: RunRequest, period: str, registry: Registry
) -> RunResult:
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError
    from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot
    from airflow_provider_runtime.core.private_folders import make_private_folder

    make_private_folder(request.state / SLICES)
    snapshot = None
    try:
        snapshot = _resolve(loaded, request, period, registry)
        return runner.execute(snapshot, write_snapshot(snapshot, str(request.state / SNAPSHOTS)))
    except RuntimeProviderError as error:
        return make_failed_result(period, error, snapshot, project=request.project)


def check_calendar(catalog: Path, snapshot: Snapshot, *, allow_closed: bool) -> None:
    """Raise PERIOD_002 when the calendar's file has closed or locked the period since the snapshot was made."""
    from airflow_provider_runtime.core.catalog.loader import load_catalog
    from airflow_provider_runtime.core.errors import raise_problems
    from airflow_provider_runtime.core.planning.snapshot.later_run import list_problems_since

    loaded, name = load_catalog(catalog), snapshot.plan.settings.calendar
    if loaded.catalog.find_calendar(name) is None and (
        not catalog.is_dir() or loaded.catalog.is_broken("calendar", name)
    ):
        raise_problems(loaded.problems)
    raise_problems(list_problems_since(loaded.catalog, snapshot, allow_closed=allow_closed))


def run_snapshot(
    runner: LocalRunner, registry: Registry, uri: str, sha256: str | None, catalog: Path | None
) -> list[RunResult]:
    """Execute a snapshot again, and print the outcome."""
    from airflow_provider_runtime.cli.local_run import make_failed_result
    from airflow_provider_runtime.cli.run_summary import print_result
    from airflow_provider_runtime.core.errors import RuntimeProviderError

    snapshot = None
    try:
        snapshot = _read_snapshot(registry, uri, sha256)
        if catalog is not None:
            check_calendar(catalog, snapshot, allow_closed=runner.allow_closed)
        result = runner.execute(snapshot, uri)
    except RuntimeProviderError as error:
        result = make_failed_result(snapshot.period.identifier if snapshot else "", error, snapshot)
    print_result(result, None)
    return [result]


def _read_snapshot(registry: Registry, uri: str, sha256: str | None) -> Snapshot:
    from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot

    return read_snapshot(uri, sha256, is_known=lambda digest: registry.find_run(digest) is not None)


def show_snapshot(registry: Registry, uri: str, sha256: str | None) -> None:
    """Print what executing a snapshot again would do."""
    from airflow_provider_runtime.cli.run_summary import print_plan

    print_plan(_read_snapshot(registry, uri, sha256), is_own=False)


def show_plans(catalog: Path, request: RunRequest, registry: Registry) -> None:
    """Print what runs of the periods would do."""
    from airflow_provider_runtime.cli.run_summary import print_plan

    loaded = _load(catalog, request.project)
    for period in _list_periods(loaded, request):
        print_plan(_resolve(loaded, request, period, registry), is_own=True)

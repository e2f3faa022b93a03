"""Runs scenarios again when a file is saved: those that the file concerns, in a Spark session that stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from airflow_provider_runtime.core.catalog.files import find_files
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.scenarios.loading import LoadedScenario, load_scenario_catalog, load_scenarios
from airflow_provider_runtime.scenarios.runner import ScenarioResult, ScenarioRunner, make_snapshot
from spark_jobs.contract.documents import write_document
from spark_jobs.contract.snapshot import Snapshot

PAUSE_SECONDS = 0.05
State = dict[Path, tuple[int, int]]
"""When each file was changed, and its size."""
Key = tuple[Path, str]
"""File and name of a scenario."""


class Watch:
    """The scenarios of files and folders, and what each depended on when it last ran."""

    def __init__(self, paths: Sequence[Path], select: str | None, runner: ScenarioRunner) -> None:
        self._paths = paths
        self._select = select
        self._runner = runner
        self._scenarios: list[LoadedScenario] = []
        self._state: State = {}
        self._plans: dict[Key, object] = {}

    def run_all(self) -> list[ScenarioResult]:
        """Run every scenario."""
        self._scenarios = self._load()
        self._state = _look(self._scenarios, self._paths)
        self._plans.clear()
        return self._run_each(set())

    def run_changed(self) -> list[ScenarioResult] | None:
        """Run what the files saved since the last look concern; None when no file was saved."""
        state = _look(self._scenarios, self._paths)
        changed = {path for path in {*state, *self._state} if state.get(path) != self._state.get(path)}
        if not changed:
            return None
        self._scenarios = self._load()
        # What is saved after the look, or named by a scenario only now, is seen by the next one.
        self._state = {**_look(self._scenarios, self._paths), **state}
        return self._run_each(changed)

    def _run_each(self, changed: set[Path]) -> list[ScenarioResult]:
        results = (self._run(scenario, changed) for scenario in self._scenarios)
        return [result for result in results if result is not None]

    def _load(self) -> list[LoadedScenario]:
        return [found for found in load_scenarios(self._paths) if self._select is None or self._select in found.name]

    def _run(self, loaded: LoadedScenario, changed: set[Path]) -> ScenarioResult | None:
        """Run a scenario; None when no file that was changed concerns it.

        That is its own file, one of its data, and one of its catalog that changes what it does.
        """
        key = (loaded.file, loaded.name)
        is_new = key not in self._plans or not changed.isdisjoint({loaded.file, *_list_data(loaded)})
        if not is_new and changed.isdisjoint(_list_catalog(loaded)):
            return None
        plan, snapshot = _make_plan(loaded)
        if not is_new and plan == self._plans[key]:
            return None
        self._plans[key] = plan
        return self._runner.run(loaded, snapshot)


def watch(runs: Watch, show: Callable[[list[ScenarioResult]], None], *, goes_on: Callable[[], bool]) -> None:
    """Run all, then look again and again for files that were saved."""
    show(runs.run_all())
    while goes_on():
        results = runs.run_changed()
        if results is not None:
            show(results)
        time.sleep(PAUSE_SECONDS)


def _make_plan(loaded: LoadedScenario) -> tuple[object, Snapshot | None]:
    """Return what a scenario would do, equal for what a change does not concern, and its snapshot if it has one."""
    if loaded.scenario is None:
        return loaded.problems, None
    try:
        snapshot = make_snapshot(loaded, loaded.scenario, load_scenario_catalog(loaded))
    except RuntimeProviderError as error:
        return error.problems, None
    return (write_document(snapshot.plan), write_document(snapshot.resolver_snapshot), snapshot.as_of), snapshot


def _look(scenarios: Iterable[LoadedScenario], paths: Iterable[Path]) -> State:
    files = {file for path in paths if path.is_dir() for file, _ in find_files(path)}
    for loaded in scenarios:
        files |= {loaded.file, *_list_data(loaded), *_list_catalog(loaded)}
    return {path: state for path in files if (state := _get_state(path)) is not None}


def _get_state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _list_data(loaded: LoadedScenario) -> list[Path]:
    if loaded.scenario is None:
        return []
    return [loaded.file.parent / entry.file for entry in loaded.scenario.data if entry.file is not None]


def _list_catalog(loaded: LoadedScenario) -> list[Path]:
    if loaded.scenario is None or not loaded.scenario.catalog:
        return []
    return [file for file, _ in find_files(loaded.file.parent / loaded.scenario.catalog)]

"""Runs scenarios, all in one Spark session."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.calendar.run_period import get_timestamp_after
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.errors import (
    PeriodError,
    Place,
    Problem,
    RuntimeProviderError,
    raise_problems,
)
from airflow_provider_runtime.core.model.scenario import Expect, Scenario
from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot
from airflow_provider_runtime.core.planning.snapshot.table_chooser import LocationRequest
from airflow_provider_runtime.core.run_timestamps import FIRST_TIMESTAMP
from airflow_provider_runtime.scenarios.compare import Mismatch
from airflow_provider_runtime.scenarios.data import check_data, check_files, find_data, make_locations
from airflow_provider_runtime.scenarios.expectations import (
    WrittenOutput,
    compare_check,
    compare_error,
    compare_failures,
    compare_output,
    compare_snapshot,
)
from airflow_provider_runtime.scenarios.loading import LoadedScenario, load_scenario_catalog
from airflow_provider_runtime.scenarios.values import ExpectedValueError
from spark_jobs.contract.documents import write_document
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Column, Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.contract.checks import CheckResult

Status = Literal["passed", "failed", "error"]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """How a scenario ended."""

    scenario: str
    file: str
    status: Status
    message: str = ""
    mismatches: tuple[Mismatch, ...] = ()
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class _Outcome:
    """What a run gave, and what was wrong with it."""

    outputs: dict[int, WrittenOutput] = field(default_factory=dict)
    checks: dict[str, CheckResult] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class ScenarioRunner:
    """Runs one scenario after the other; Spark starts with the first that needs it."""

    def __init__(self, start_spark: Callable[[], SparkSession]) -> None:
        self._start_spark = start_spark

    @cached_property
    def _spark(self) -> SparkSession:
        return self._start_spark()

    def run(self, loaded: LoadedScenario, snapshot: Snapshot | None = None) -> ScenarioResult:
        """Run one scenario, whose snapshot may be known already, and say how it ended."""
        started = time.monotonic()
        try:
            status, message, mismatches, problems = self._judge(loaded, snapshot)
        except ExpectedValueError as error:
            status, message, mismatches, problems = "error", str(error), (), ()
        seconds = round(time.monotonic() - started, 3)
        return ScenarioResult(loaded.name, str(loaded.file), status, message, mismatches, problems, seconds)

    def _judge(
        self, loaded: LoadedScenario, snapshot: Snapshot | None
    ) -> tuple[Status, str, tuple[Mismatch, ...], tuple[Problem, ...]]:
        if loaded.scenario is None:
            return "error", "; ".join(map(str, loaded.problems)), (), loaded.problems
        expected = loaded.scenario.expect
        try:
            snapshot = snapshot or make_snapshot(loaded, loaded.scenario, load_scenario_catalog(loaded))
            mismatches = self._compare(snapshot, expected)
        except RuntimeProviderError as error:
            if expected.error is None:
                return "error", "; ".join(map(str, error.problems)), (), error.problems
            mismatches = compare_error(expected.error, error.problems)
        if not mismatches:
            return "passed", "", (), ()
        return "failed", "; ".join(mismatch.message for mismatch in mismatches[:8]), tuple(mismatches), ()

    def _compare(self, snapshot: Snapshot, expected: Expect) -> list[Mismatch]:
        mismatches = []
        if expected.snapshot is not None:
            mismatches += compare_snapshot(expected.snapshot, write_document(snapshot.resolver_snapshot))
        if not (expected.outputs or expected.checks or expected.error is not None):
            return mismatches
        outcome = self._execute(snapshot)
        if expected.error is not None:
            mismatches += compare_error(expected.error, outcome.problems)
            mismatches += compare_failures(expected, outcome.checks)
        elif not _expects_failure(expected, outcome):
            raise_problems(outcome.problems)
        for output in expected.outputs:
            mismatches += compare_output(output, outcome.outputs.get(output.operation), sorted(outcome.outputs))
        checks = {check.name: check for check in snapshot.plan.checks}
        for check in expected.checks:
            mismatches += compare_check(check, checks, outcome.checks)
        return mismatches

    def _execute(self, snapshot: Snapshot) -> _Outcome:
        from spark_jobs.checks.evaluation import raise_failures
        from spark_jobs.errors import JobError
        from spark_jobs.rows.executor import execute
        from spark_jobs.sinks.memory import MemorySinks

        sinks = MemorySinks()
        outcome = _Outcome()
        try:
            executed = execute(self._spark, snapshot, sinks)
            outcome.checks = {result.name: result for result in executed.checks}
            raise_failures(snapshot.plan.checks, executed.checks)
        except JobError as error:
            marks = snapshot.plan.marks
            for problem in error.problems:
                mark = marks.get(problem.mark or "")
                place = Place(mark.file, mark.line, mark.column, field=mark.field) if mark else Place()
                outcome.problems.append(Problem(problem.code, problem.message, problem.hint, place))
        outcome.outputs = {
            seq: WrittenOutput(tuple(Column(name=c.name, type=c.type) for c in table.columns), table.rows)
            for seq, table in sinks.tables.items()
        }
        return outcome


def _expects_failure(expected: Expect, outcome: _Outcome) -> bool:
    """Whether nothing but checks failed, each of which is expected to; what is published is then not asked for."""
    failed = {name for name, result in outcome.checks.items() if result.status == "failed"}
    listed = {check.name for check in expected.checks if check.status == "failed"}
    return bool(failed) and failed <= listed and not expected.outputs


def make_snapshot(loaded: LoadedScenario, scenario: Scenario, definitions: LoadResult) -> Snapshot:
    """Resolve a scenario's run, with its data in place of what the resolvers choose."""

    def locate(request: LocationRequest, chosen: tuple[Location, ...]) -> tuple[Location, ...]:
        entries = find_data(scenario.data, request.dataset, request.table)
        return make_locations(entries, request, chosen, loaded.file.parent)

    raise_problems(check_files(loaded))
    options = ResolveOptions(
        as_of=scenario.run.as_of,
        run_timestamp=scenario.run.timestamp or find_default_timestamp(definitions.catalog, scenario),
        allow_closed=True,
    )
    snapshot = build_snapshot(definitions, scenario.run.project, scenario.run.period, options, locate=locate)
    raise_problems(check_data(loaded, definitions.catalog))
    return snapshot


def find_default_timestamp(catalog: Catalog, scenario: Scenario) -> datetime | None:
    """Return the midnight after the period; None where project or period is unknown."""
    project = catalog.find_project(scenario.run.project)
    calendar = catalog.find_calendar(project.model.calendar) if project else None
    if project is None or calendar is None:
        return None
    period = make_period_index(calendar.model).find_period(scenario.run.period, project.model.level)
    if period is None:
        return None
    moment = get_timestamp_after(period)
    if moment < FIRST_TIMESTAMP:
        message = f"the day after period {period.identifier} is before 1970; a run cannot be that early"
        raise PeriodError(Problem("PERIOD_001", message, "give the scenario a run.timestamp"))
    return moment

"""Projects as documents: what they refer to, where outputs go, and the airflow block; not their operations' meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.catalog.rules_dataset import is_unknown_resolver
from airflow_provider_runtime.core.catalog.rules_secrets import check_format, check_options, check_url
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.base import read_as_date
from airflow_provider_runtime.core.model.duration import DURATION_HINT, parse_duration
from airflow_provider_runtime.core.model.operation import Destination, OutputOperation
from airflow_provider_runtime.core.model.project import AirflowSettings, Project
from airflow_provider_runtime.core.suggest import suggest

CRON_FIELD = re.compile(r"(?:[A-Za-z0-9*?L#W]+(?:[-/#][A-Za-z0-9]+)*)(?:,[A-Za-z0-9*?L#W]+(?:[-/#][A-Za-z0-9]+)*)*")
CRON_PRESETS = ("@once", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly", "@continuous")
SCHEDULES = ("after_period", "upstream")
CRON_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def check_project_document(catalog: Catalog, definition: Definition[Project]) -> list[Problem]:
    """Return what is wrong with a project apart from what its operations compute."""
    check = _ProjectCheck(catalog, definition)
    check.run()
    return check.problems


class _ProjectCheck:
    def __init__(self, catalog: Catalog, definition: Definition[Project]) -> None:
        self._catalog, self._definition, self._project = catalog, definition, definition.model
        self.problems: list[Problem] = []

    def run(self) -> None:
        """Check everything."""
        self._check_calendar()
        self._check_overrides()
        for index, operation in enumerate(self._project.operations):
            if isinstance(operation, OutputOperation):
                path: Path = ("operations", index, "arguments", "destination")
                self._check_destination(path, operation.arguments.destination)
        if self._project.airflow is not None:
            self._check_airflow(self._project.airflow)

    def _report(self, code: Code, path: Path, message: str, hint: str | None = None, *, key: bool = False) -> None:
        self.problems.append(Problem(code, message, hint, self._definition.locate(*path, key=key)))

    def _check_calendar(self) -> None:
        name = self._project.calendar
        calendar = self._catalog.find_calendar(name)
        if calendar is None:
            if not self._catalog.is_broken("calendar", name):
                hint = suggest(name, ["gregorian", *self._catalog.calendars])
                self._report("CATALOG_004", ("calendar",), f"unknown calendar '{name}'", hint)
            return
        levels = [level.name for level in calendar.model.levels]
        if self._project.level not in levels:
            message = f"calendar '{name}' has no level '{self._project.level}'"
            self._report("CATALOG_004", ("level",), message, suggest(self._project.level, levels))

    def _check_overrides(self) -> None:
        for dataset, resolver in self._project.resolver_overrides.items():
            path: Path = ("resolver_overrides", dataset)
            if is_unknown_resolver(self._catalog, resolver):
                known = dict.fromkeys(identifier for identifier, _ in self._catalog.resolvers)
                self._report("CATALOG_004", path, f"unknown resolver '{resolver}'", suggest(resolver, known))

    def _check_destination(self, path: Path, destination: Destination) -> None:
        if destination.datasource_id is None:
            self._check_inline(path, destination)
        else:
            self._check_datasource_place(path, destination)
        self.problems += check_options(self._definition, (*path, "options"), destination.options)
        self.problems += check_url(self._definition, (*path, "path"), destination.path)

    def _check_inline(self, path: Path, destination: Destination) -> None:
        # What keeps a destination from being resolved is OUTPUT_002 of the project check.
        if destination.type is None:
            return
        self.problems += check_format(self._definition, (*path, "type"), destination.type)

    def _check_datasource_place(self, path: Path, destination: Destination) -> None:
        if destination.type is not None:
            message = "the type of a destination is its datasource's"
            self._report("CATALOG_002", (*path, "type"), message, "remove type, or datasource_id", key=True)
        if destination.options:
            message = "the options of a destination are its datasource's"
            self._report("CATALOG_002", (*path, "options"), message, "write them in the datasource", key=True)

    def _check_airflow(self, airflow: AirflowSettings) -> None:
        self._check_text(("airflow", "schedule"), airflow.schedule, _say_schedule)
        self._check_text(("airflow", "start_date"), airflow.start_date, _say_start_date)
        self._check_text(("airflow", "timezone"), airflow.timezone, _say_timezone)
        self._check_text(("airflow", "retry_delay"), airflow.retry_delay, _say_duration)
        deadline = airflow.deadline
        if deadline is None:
            return
        path: Path = ("airflow", "deadline")
        self._check_text((*path, "after_period_end"), deadline.after_period_end, _say_duration)
        self._check_text((*path, "after_queued"), deadline.after_queued, _say_duration)
        if (deadline.after_period_end is None) == (deadline.after_queued is None):
            message = "a deadline has either after_period_end or after_queued"
            self._report("CATALOG_002", path, message, "for example {after_period_end: 3d}")

    def _check_text(self, path: Path, text: str | None, say: Callable[[str], tuple[str, str] | None]) -> None:
        said = None if text is None else say(text)
        if said is not None:
            self._report("CATALOG_002", path, *said)


def _say_schedule(text: str) -> tuple[str, str] | None:
    fields = text.split()
    if text in SCHEDULES or text in CRON_PRESETS:
        return None
    if len(fields) == len(CRON_BOUNDS) and all(map(_is_cron_field, fields, CRON_BOUNDS)):
        return None
    return f"'{text[:60]}' is no schedule", "write after_period, upstream, null, or a cron expression of five fields"


def _is_cron_field(field: str, bounds: tuple[int, int]) -> bool:
    if not CRON_FIELD.fullmatch(field):
        return False
    numbers = [int(number) for number in re.findall(r"(?<![/#0-9A-Za-z])[0-9]+", field)]
    return all(bounds[0] <= number <= bounds[1] for number in numbers)


def _say_start_date(text: str) -> tuple[str, str] | None:
    try:
        read_as_date(text[:10])
    except ValueError:
        return f"'{text[:60]}' is no date", "write an existing day as YYYY-MM-DD"
    if len(text) > 10:
        return f"'{text[:60]}' is no date", "write it as YYYY-MM-DD"
    return None


def _say_timezone(text: str) -> tuple[str, str] | None:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        return f"unknown time zone '{text[:60]}'", "write a name such as UTC or Europe/Berlin"
    return None


def _say_duration(text: str) -> tuple[str, str] | None:
    try:
        parse_duration(text)
    except ValueError:
        return f"'{text[:60]}' is no duration", DURATION_HINT
    return None

"""Registers the timetable, the mappers, the deadline references, the notes of runs and the board with Airflow."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_runtime.deadlines.references import PeriodEndReference, QueuedReference
from airflow_provider_runtime.plugins.board_app import list_fastapi_apps, list_react_apps
from airflow_provider_runtime.plugins.run_notes import RunNotes
from airflow_provider_runtime.timetables.partition_mappers import ChildPeriodsWindow, PeriodMapper
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable


class RuntimePlugin(AirflowPlugin):
    """The classes that Airflow finds again by name when it reads a stored DAG."""

    name = "runtime"
    # Airflow reads these from the class; its own annotation is of instances.
    timetables = [PeriodTimetable]  # noqa: RUF012
    partition_mappers = [PeriodMapper]  # noqa: RUF012
    windows = [ChildPeriodsWindow]  # noqa: RUF012
    deadline_references = [PeriodEndReference, QueuedReference]  # noqa: RUF012
    listeners = [RunNotes()]  # noqa: RUF012
    fastapi_apps = list_fastapi_apps()
    react_apps = list_react_apps()

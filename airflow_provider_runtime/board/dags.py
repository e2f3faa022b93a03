"""The DAGs that run projects, told from their stored form: the API server parses no DAG file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar

_RESOLVE = "ResolveOperator"
_PACKAGE = "airflow_provider_runtime."


@dataclass(frozen=True, slots=True)
class ProjectDag:
    """A DAG that runs a project."""

    dag_id: str
    project: str
    """Id or name, as the operator was given it."""
    catalog: str | None
    runtime_conn_id: str
    tags: tuple[str, ...]
    calendar: Calendar | None
    """Where the DAG runs by one of our timetables."""
    level: str | None


def list_project_dags(dag_ids: Collection[str]) -> list[ProjectDag]:
    """Return those of the DAGs that run a project, by id."""
    if not dag_ids:
        return []
    found = []
    with create_session() as session:
        active = select(DagModel.dag_id).where(DagModel.dag_id.in_(dag_ids), DagModel.is_stale.is_(False))
        for dag_id in sorted(session.scalars(active)):
            stored = SerializedDagModel.get(dag_id, session=session)
            found += [] if stored is None or stored.data is None else list(_read_dag(dag_id, stored.data))
    return found


def find_dag_run(dag_id: str, run_id: str) -> DagRun | None:
    """Find a run of a DAG."""
    with create_session() as session:
        return session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))


def _read_dag(dag_id: str, data: Mapping[str, Any]) -> Iterator[ProjectDag]:
    dag = data.get("dag") or {}
    calendar, level = _read_timetable(dag.get("timetable") or {})
    for task in dag.get("tasks") or ():
        fields = task.get("__var") or task
        module = str(fields.get("_task_module") or "")
        if fields.get("task_type") != _RESOLVE or not module.startswith(_PACKAGE):
            continue
        yield ProjectDag(
            dag_id=dag_id,
            project=str(fields.get("project") or ""),
            catalog=_as_text(fields.get("catalog")),
            runtime_conn_id=str(fields.get("runtime_conn_id") or "runtime_default"),
            tags=tuple(dag.get("tags") or ()),
            calendar=calendar,
            level=level,
        )


def _read_timetable(stored: Mapping[str, Any]) -> tuple[Calendar | None, str | None]:
    fields = stored.get("__var") or {}
    if not str(stored.get("__type") or "").endswith("PeriodTimetable") or "calendar" not in fields:
        return None, None
    return decode_calendar(fields["calendar"]), str(fields["level"])


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

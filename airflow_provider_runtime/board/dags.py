"""The DAGs that run projects, read from their stored form: the API server parses no DAG file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import ColumnExpressionArgument, Select, and_, func, select

from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.registry.ports import RunRecord
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar

_RESOLVE = "ResolveOperator"
_APPROVE = "ApproveRunOperator"
_PACKAGE = "airflow_provider_runtime."
_stored: dict[str, tuple[str, tuple[ProjectDag, ...]]] = {}
"""The projects of DAGs, with the digest of the stored form in which they were read."""


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
    end_date: date | None = None
    """Periods that begin later are not run by the DAG."""


@dataclass(frozen=True, slots=True)
class Place:
    """The task instance that asked for a run."""

    dag_id: str
    task_id: str
    run_id: str


def find_place(run: RunRecord) -> Place | None:
    """Return where in Airflow a run was asked for, None when it was not there."""
    parts = (run.invocation or "").split("/")
    if len(parts) < 5:
        return None
    dag_id, task_id, *middle, _map_index, _clears = parts
    return Place(dag_id, task_id, "/".join(middle))


def find_request(place: Place) -> dict[str, Any] | None:
    """Return the task of a DAG run that waits for the approval of what another of its tasks has staged."""
    tasks = (TaskInstance.dag_id == place.dag_id, TaskInstance.run_id == place.run_id)
    waiting = (HITLDetail.responded_at.is_(None), TaskInstance.operator == _APPROVE)
    query = select(TaskInstance.task_id, TaskInstance.map_index).join(HITLDetail, HITLDetail.ti_id == TaskInstance.id)
    group = place.task_id.rpartition(".")[0]
    with create_session() as session:
        for task_id, map_index in session.execute(query.where(*tasks, *waiting)):
            if task_id.rpartition(".")[0] == group:
                return {**asdict(place), "task_id": task_id, "map_index": map_index}
    return None


def list_failed_tasks(run: DagRun) -> list[str]:
    """Return the tasks of a DAG run that failed by themselves."""
    failed = (TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id, TaskInstance.state == "failed")
    with create_session() as session:
        return list(session.scalars(select(TaskInstance.task_id).where(*failed).order_by(TaskInstance.task_id)))


def list_paused(dag_ids: Collection[str]) -> set[str]:
    """Return those of the DAGs whose runs wait until somebody switches the DAG on."""
    return _list_where(DagModel.is_paused, dag_ids)


def list_partitioned(dag_ids: Collection[str]) -> set[str]:
    """Return those of the DAGs whose runs are for a partition; others take the period as a parameter."""
    return _list_where(DagModel.timetable_partitioned, dag_ids)


def _list_where(condition: ColumnExpressionArgument[bool], dag_ids: Collection[str]) -> set[str]:
    with create_session() as session:
        return set(session.scalars(select(DagModel.dag_id).where(condition))) & set(dag_ids)


def list_project_dags(dag_ids: Collection[str]) -> list[ProjectDag]:
    """Return those of the DAGs that run a project, by id; a stored DAG is read once."""
    if not dag_ids:
        return []
    found: list[ProjectDag] = []
    with create_session() as session:
        for dag_id, row_id, digest in session.execute(_select_stored()):
            if dag_id not in dag_ids:
                continue
            if dag_id not in _stored or _stored[dag_id][0] != digest:
                stored = session.get(SerializedDagModel, row_id)
                projects = tuple(_read_dag(dag_id, stored.data or {})) if stored is not None else ()
                _stored[dag_id] = (digest, projects)
            found += _stored[dag_id][1]
    return found


def _select_stored() -> Select[str, UUID, str]:
    """Return the query for the newest form of each DAG whose file is still there."""
    versions = select(DagVersion.dag_id, func.max(DagVersion.version_number).label("newest"))
    newest = versions.join(SerializedDagModel, SerializedDagModel.dag_version_id == DagVersion.id)
    latest = newest.group_by(DagVersion.dag_id).subquery()
    return (
        select(SerializedDagModel.dag_id, SerializedDagModel.id, SerializedDagModel.dag_hash)
        .join(DagVersion, SerializedDagModel.dag_version_id == DagVersion.id)
        .join(latest, and_(latest.c.dag_id == DagVersion.dag_id, latest.c.newest == DagVersion.version_number))
        .join(DagModel, DagModel.dag_id == SerializedDagModel.dag_id)
        .where(DagModel.is_stale.is_(False))
        .order_by(SerializedDagModel.dag_id)
    )


def find_dag_run(dag_id: str, run_id: str) -> DagRun | None:
    """Find a run of a DAG."""
    with create_session() as session:
        return session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))


def _read_dag(dag_id: str, data: Mapping[str, Any]) -> Iterator[ProjectDag]:
    dag = data.get("dag") or {}
    calendar, level = _read_timetable(dag.get("timetable") or {})
    end = dag.get("end_date")
    for task in dag.get("tasks") or ():
        fields = task.get("__var") or task
        module = str(fields.get("_task_module") or "")
        if fields.get("task_type") != _RESOLVE or not module.startswith(_PACKAGE):
            continue
        # A mapped task keeps the arguments that its instances share separately.
        fields = {**(fields.get("partial_kwargs") or {}), **fields}
        yield ProjectDag(
            dag_id=dag_id,
            project=str(fields.get("project") or ""),
            catalog=_as_text(fields.get("catalog")),
            runtime_conn_id=str(fields.get("runtime_conn_id") or "runtime_default"),
            tags=tuple(dag.get("tags") or ()),
            calendar=calendar,
            level=level,
            end_date=datetime.fromtimestamp(end, UTC).date() if isinstance(end, int | float) else None,
        )


def _read_timetable(stored: Mapping[str, Any]) -> tuple[Calendar | None, str | None]:
    fields = stored.get("__var") or {}
    if not str(stored.get("__type") or "").endswith("PeriodTimetable") or "calendar" not in fields:
        return None, None
    return decode_calendar(fields["calendar"]), str(fields["level"])


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

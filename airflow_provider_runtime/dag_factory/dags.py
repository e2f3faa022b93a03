"""DAGs from projects: one call for one project, or for a whole catalog."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Param, TaskGroup

from airflow_provider_runtime.core.errors import DefinitionError, Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.duration import parse_duration
from airflow_provider_runtime.core.model.project import UPSTREAM
from airflow_provider_runtime.core.rendering import render_problems
from airflow_provider_runtime.core.suggest import suggest
from airflow_provider_runtime.dag_factory.catalog_outline import CatalogOutline, read_catalog_outline
from airflow_provider_runtime.dag_factory.documentation import (
    make_approval_documentation,
    make_documentation,
    make_run_documentation,
)
from airflow_provider_runtime.dag_factory.import_errors import report_import_errors
from airflow_provider_runtime.dag_factory.outline import ProjectOutline
from airflow_provider_runtime.dag_factory.schedules import (
    list_offered_periods,
    make_deadline,
    make_schedule,
)
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID
from airflow_provider_runtime.operators.publish_run import PublishRunOperator
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from airflow_provider_runtime.timetables.assets import make_asset

if TYPE_CHECKING:
    from airflow_provider_runtime.operators.approve_run import ApproveRunOperator

CatalogPath = str | os.PathLike[str]
_PACKAGE = str(Path(__file__).resolve().parent)
PERIOD_SECTION = "Period of a single run without a partition key"
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ProjectTasks:
    """The tasks of a project; the last two where its publication needs an approval."""

    resolve: ResolveOperator
    run: RunProjectOperator
    approve: ApproveRunOperator | None = None
    publish: PublishRunOperator | None = None


class ProjectTaskGroup(TaskGroup):
    """The tasks of a project inside a DAG that you write: `.resolve`, `.run`, and `.approve` and `.publish` or None."""

    def __init__(
        self,
        project: str,
        catalog: CatalogPath,
        *,
        group_id: str | None = None,
        runtime_conn_id: str = DEFAULT_CONN_ID,
        resolve_args: Mapping[str, Any] | None = None,
        run_args: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        root = find_catalog(catalog)
        with _shown_in_full():
            found = read_catalog_outline(root, project).get_project(project)
        super().__init__(group_id=group_id or make_dag_id(found.name).replace(".", "_"), **kwargs)
        with self:
            tasks = _make_tasks(found, root, _TaskOptions(runtime_conn_id, resolve_args, run_args))
        self.resolve, self.run = tasks.resolve, tasks.run
        self.approve, self.publish = tasks.approve, tasks.publish


def project_dag(
    project: str,
    catalog: CatalogPath,
    *,
    dag_id: str | None = None,
    runtime_conn_id: str = DEFAULT_CONN_ID,
    deadline_callback: str | None = None,
    resolve_args: Mapping[str, Any] | None = None,
    run_args: Mapping[str, Any] | None = None,
    **dag_args: Any,
) -> DAG:
    """Return the DAG of a project, as its YAML describes it; arguments of DAG take precedence.

    :param project: id or name of the project
    :param catalog: catalog folder; a relative one is looked for beside the DAG file
    :param deadline_callback: import path of the coroutine that is called when a run is late
    :param resolve_args: further arguments of ResolveOperator
    :param run_args: further arguments of RunProjectOperator, and of PublishRunOperator where there is one
    """
    options = _TaskOptions(runtime_conn_id, resolve_args, run_args, deadline_callback)
    with _shown_in_full():
        outline = read_catalog_outline(find_catalog(catalog), project)
        found = outline.get_project(project)
        return _make_dag(outline, found, dag_id or make_dag_id(found.name), options, dag_args)


def project_dags(
    catalog: CatalogPath,
    *,
    runtime_conn_id: str = DEFAULT_CONN_ID,
    deadline_callback: str | None = None,
    run_args: Mapping[str, Any] | None = None,
    **dag_args: Any,
) -> dict[str, DAG]:
    """Return one DAG for each project of a catalog by its id: `globals().update(project_dags("catalog"))`.

    A file with mistakes is a separate import error, so that the other projects go on running.
    """
    outline = read_catalog_outline(find_catalog(catalog))
    problems = list(outline.problems)
    options = _TaskOptions(runtime_conn_id, None, run_args, deadline_callback)
    dags: dict[str, DAG] = {}
    for project in outline.projects:
        dag_id = make_dag_id(project.name)
        if dag_id in dags:
            dag_id = make_dag_id(f"{project.name}-{project.id}")
        try:
            dags[dag_id] = _make_dag(outline, project, dag_id, options, dag_args)
        except RuntimeProviderError as error:
            problems += error.problems
    report_import_errors(outline.root, problems)
    return dags


@contextmanager
def _shown_in_full() -> Iterator[None]:
    """Add place and hint of every problem to an error, for Airflow shows its traceback as the file's import error."""
    try:
        yield
    except RuntimeProviderError as error:
        error.add_note("\n" + render_problems(error.problems))
        raise


@dataclass(frozen=True)
class _TaskOptions:
    """What is asked of a DAG's tasks, apart from the project's YAML."""

    runtime_conn_id: str
    resolve_args: Mapping[str, Any] | None
    run_args: Mapping[str, Any] | None
    deadline_callback: str | None = None


def _make_dag(
    outline: CatalogOutline,
    project: ProjectOutline,
    dag_id: str,
    options: _TaskOptions,
    dag_args: Mapping[str, Any],
) -> DAG:
    settings = project.settings
    arguments: dict[str, Any] = {
        "dag_id": dag_id,
        "dag_display_name": project.name,
        "description": _shorten(project.description),
        "schedule": make_schedule(outline, project),
        "start_date": _get_start(project),
        "catchup": False,
        "tags": list(settings.tags),
        "doc_md": make_documentation(project),
        "params": {"period": _make_period_param(outline, project)},
        "deadline": make_deadline(outline, project, options.deadline_callback),
    }
    if settings.max_active_runs is not None:
        arguments["max_active_runs"] = settings.max_active_runs
    arguments |= dag_args
    dag = DAG(**arguments)
    # Airflow takes the file that calls DAG(...) for the DAG's own; that would be this one.
    dag.fileloc = _find_caller() or dag.fileloc
    with dag:
        _make_tasks(project, outline.root, options)
    return dag


def _make_tasks(project: ProjectOutline, root: Path, options: _TaskOptions) -> ProjectTasks:
    """Make the tasks of a project in the DAG at hand: `approve` and `publish` too where an approval is required."""
    settings = project.settings
    shared = _make_shared_arguments(project)
    spark = _check_spark_arguments(project)
    resolve_arguments: dict[str, Any] = {
        "task_id": "resolve",
        "project": project.id,
        "catalog": os.fspath(root),
        "runtime_conn_id": options.runtime_conn_id,
        "allow_open_period": settings.allow_open_period,
        "allow_closed": settings.allow_closed,
        "requires_previous_period": settings.requires_previous_period,
        "deploy_mode": spark.get("deploy_mode"),
    }
    if settings.wait_for_data is not None:
        resolve_arguments["wait_for_data"] = parse_duration(settings.wait_for_data.up_to)
        resolve_arguments["poke_interval"] = parse_duration(settings.wait_for_data.every).total_seconds()
    resolve = ResolveOperator(**{**shared, **resolve_arguments, **(options.resolve_args or {})})
    job: dict[str, Any] = {
        **shared,
        "runtime_conn_id": options.runtime_conn_id,
        "name": f"{project.name} {{{{ run_id }}}}",
        **spark,
        "snapshot": resolve.output,
        **(options.run_args or {}),
    }
    # Datasets are registered by the task that publishes.
    outlets = [make_asset(name) for name in project.registered]
    documentation = make_run_documentation(project)
    if not project.approvers:
        run = RunProjectOperator(**{"task_id": "run", "doc_md": documentation, "outlets": outlets, **job})
        resolve >> run
        return ProjectTasks(resolve, run)
    run = RunProjectOperator(**{**job, "task_id": "run", "doc_md": documentation, "outlets": []})
    approve = _make_approval(project, shared, runtime_conn_id=options.runtime_conn_id, snapshot=resolve.output)
    publish = PublishRunOperator(**{"outlets": outlets, **job, "task_id": "publish"})
    resolve >> run >> approve >> publish
    return ProjectTasks(resolve, run, approve, publish)


def _make_approval(project: ProjectOutline, shared: Mapping[str, Any], **arguments: Any) -> ApproveRunOperator:
    # Imported here: few projects ask a person, and every DAG file would pay for it.
    from airflow_provider_runtime.operators.approve_run import ApproveRunOperator

    subject, documentation = f"Publish {project.name}?", make_approval_documentation(project)
    return ApproveRunOperator(**shared, task_id="approve", subject=subject, doc_md=documentation, **arguments)


def _check_spark_arguments(project: ProjectOutline) -> dict[str, Any]:
    """Return the spark block as arguments of SparkSubmitOperator; those that it does not have are CATALOG_002."""
    known = _list_spark_arguments() if project.settings.spark else frozenset[str]()
    spark = {str(key): value for key, value in project.settings.spark.items()}
    problems = [
        Problem(
            "CATALOG_002",
            f"unknown key '{key}' in the spark block",
            suggest(key, sorted(known)),
            project.locate(f"airflow.spark.{key}"),
        )
        for key in spark
        if key not in known
    ]
    if problems:
        raise DefinitionError(problems)
    return spark


@cache
def _list_spark_arguments() -> frozenset[str]:
    return frozenset(inspect.signature(SparkSubmitOperator.__init__).parameters) - {"self", "kwargs"}


def _make_shared_arguments(project: ProjectOutline) -> dict[str, Any]:
    settings = project.settings
    shared: dict[str, Any] = {}
    for name in ("owner", "pool", "retries"):
        if (value := getattr(settings, name)) is not None:
            shared[name] = value
    if settings.retry_delay is not None:
        shared["retry_delay"] = parse_duration(settings.retry_delay)
    return shared


def _make_period_param(outline: CatalogOutline, project: ProjectOutline) -> Param:
    offered = list_offered_periods(outline, project)
    hint = "A partition key goes before it." if project.settings.schedule == UPSTREAM else ""
    # Airflow shows the same fields for a backfill, which sets the period of each run: this section starts collapsed.
    schema: dict[str, Any] = {"type": ["null", "string"], "title": "Period", "section": PERIOD_SECTION}
    if offered:
        schema["examples"] = offered
    text = f"The {project.level} to run for, where the run has no partition key. {hint}".strip()
    return Param(None, description=text, **schema)


def _get_start(project: ProjectOutline) -> datetime | None:
    settings = project.settings
    if settings.start_date is None:
        return None
    return datetime.combine(date.fromisoformat(settings.start_date), time(), ZoneInfo(settings.timezone or "UTC"))


def make_dag_id(name: str) -> str:
    """Return a name with the characters that a DAG id may have."""
    return _NOT_IN_IDS.sub("_", name)[:200]


def find_catalog(catalog: CatalogPath) -> Path:
    """Return a catalog's folder; a relative one is relative to the DAG file that names it."""
    path = Path(catalog)
    if path.is_absolute():
        return path
    caller = _find_caller()
    beside = Path(caller).resolve().parent / path if caller else path
    return beside if beside.is_dir() else path.absolute()


def _find_caller() -> str | None:
    """Return the file outside this package that called."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and not name.startswith("<"):
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _shorten(text: str | None) -> str | None:
    first = (text or "").strip().partition("\n")[0]
    return first[:200] or None

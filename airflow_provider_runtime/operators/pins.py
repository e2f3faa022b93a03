"""What a ResolveOperator returns: where the snapshot of a run is.

XCom can be written by more people than DAG files. What comes from it must be what a ResolveOperator writes there: a
snapshot in the connection's store, of the project and the period of this DAG run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import DefinitionError, Problem, SnapshotError
from airflow_provider_runtime.operators.period_choice import find_given_period

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.hooks.runtime import RuntimeHook
    from airflow_provider_runtime.operators.resolve import ResolveOperator
    from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Pins:
    """A snapshot's address, and the digest that it must have."""

    snapshot_uri: str
    snapshot_sha256: str


def open_pinned(task: Any, context: Context, hook: RuntimeHook) -> tuple[str, Snapshot]:
    """Return the snapshot that a task is for, and its address."""
    from airflow_provider_runtime.core.planning.snapshot.store import make_snapshot_uri, read_snapshot

    pins = read_pins(task, context, task.snapshot)
    store = hook.settings.snapshot_store
    is_from_xcom = not task.is_snapshot_literal or getattr(context["ti"], "map_index", -1) >= 0
    if is_from_xcom and pins.snapshot_uri != make_snapshot_uri(store, pins.snapshot_sha256.lower()):
        message = f"the XCom of task '{task.task_id}' names a snapshot outside of the store {store}"
        hint = "resolve and run with the same Runtime connection; if its store was changed, clear the resolve task"
        raise SnapshotError(Problem("SNAPSHOT_001", message, hint))
    snapshot = read_snapshot(pins.snapshot_uri, pins.snapshot_sha256, hook.storage)
    if is_from_xcom:
        _check_run(task, context, snapshot)
    return pins.snapshot_uri, snapshot


def _check_run(task: Any, context: Context, snapshot: Snapshot) -> None:
    """Raise SNAPSHOT_001 for a snapshot of another project or period than the ResolveOperator before is for."""
    resolves = _list_resolve_tasks(task)
    if len(resolves) != 1:
        return
    project, period = resolves[0].project, find_given_period(context, resolves[0].period)
    is_other = _is_plain(project) and project not in (snapshot.project.id, snapshot.project.name)
    if is_other or (_is_plain(period) and period != snapshot.period.identifier):
        found = f"{snapshot.project.name}, {snapshot.period.identifier}"
        message = f"the XCom of task '{task.task_id}' names a snapshot of {found}, and not of {project}, {period}"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "see who has changed the XCom; clear the resolve task"))


def _is_plain(text: object) -> bool:
    """Return whether a text is used as the DAG file has it, without being rendered."""
    return isinstance(text, str) and "{{" not in text and "{%" not in text


def read_pins(task: Any, context: Context, given: Any) -> Pins:
    """Return what a task was given, or what the ResolveOperator before it has returned."""
    found = context["ti"].xcom_pull(task_ids=_find_resolve_task(task)) if given is None else given
    if isinstance(found, str):
        found = _parse(found)
    if not isinstance(found, Mapping) or not {"snapshot_uri", "snapshot_sha256"} <= set(found):
        hint = "put a ResolveOperator before this task, or give snapshot=resolve.output"
        raise SnapshotError(Problem("SNAPSHOT_001", f"task '{task.task_id}' was given no snapshot", hint))
    return Pins(str(found["snapshot_uri"]), str(found["snapshot_sha256"]))


def _list_resolve_tasks(task: Any) -> list[ResolveOperator]:
    from airflow_provider_runtime.operators.resolve import ResolveOperator

    return [upstream for upstream in task.upstream_list if isinstance(upstream, ResolveOperator)]


def _find_resolve_task(task: Any) -> str:
    found = [upstream.task_id for upstream in _list_resolve_tasks(task)]
    if len(found) != 1:
        hint = "give snapshot=resolve.output"
        message = f"task '{task.task_id}' has {len(found)} ResolveOperators right before it, expected one"
        raise DefinitionError(Problem("SNAPSHOT_001", message, hint))
    return found[0]


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # A template renders a dictionary the way Python writes it.
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None

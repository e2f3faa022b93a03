"""What a ResolveOperator has told: where the snapshot of a run is."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import DefinitionError, Problem, SnapshotError

if TYPE_CHECKING:
    from airflow.sdk import Context


@dataclass(frozen=True, slots=True)
class Pins:
    """A snapshot's address, and the digest that it must have."""

    snapshot_uri: str
    snapshot_sha256: str


def read_pins(task: Any, context: Context, given: Any) -> Pins:
    """Return what a task was given, or what the ResolveOperator before it has returned."""
    found = context["ti"].xcom_pull(task_ids=_find_resolve_task(task)) if given is None else given
    if isinstance(found, str):
        found = _parse(found)
    if not isinstance(found, Mapping) or not {"snapshot_uri", "snapshot_sha256"} <= set(found):
        hint = "put a ResolveOperator before this task, or give snapshot=resolve.output"
        raise SnapshotError(Problem("SNAPSHOT_001", f"task '{task.task_id}' was given no snapshot", hint))
    return Pins(str(found["snapshot_uri"]), str(found["snapshot_sha256"]))


def _find_resolve_task(task: Any) -> str:
    from airflow_provider_runtime.operators.resolve import ResolveOperator

    found = [upstream.task_id for upstream in task.upstream_list if isinstance(upstream, ResolveOperator)]
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

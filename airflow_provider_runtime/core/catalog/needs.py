"""What a project needs: the datasets that it refers to, and those that these lead to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from airflow_provider_runtime.core.model.check import Check, ComparedValue
from airflow_provider_runtime.core.model.dataset import Dataset, DatasetTarget
from airflow_provider_runtime.core.model.operation import AppendOperation, Operation, UpdateOperation
from airflow_provider_runtime.core.model.project import Project


def list_project_references(project: Project) -> list[str]:
    """Return every dataset that a project reads, by id or name as written, its input first."""
    return [
        project.input_dataset_id,
        *(ref for entry in project.operations for ref in list_operation_references(entry)),
        *(ref for check in project.checks for ref in list_check_references(check)),
    ]


def list_operation_references(operation: Operation) -> list[str]:
    """Return every dataset that an operation reads beside the working dataset, by id or name as written."""
    if isinstance(operation, UpdateOperation):
        return [join.dataset_id for join in operation.arguments.joins]
    if isinstance(operation, AppendOperation):
        return [operation.arguments.source.dataset_id]
    return []


def list_check_references(check: Check) -> list[str]:
    """Return the dataset that a check compares with, by id or name as written."""
    other = check.equals
    return [other.dataset_id] if isinstance(other, ComparedValue) and other.dataset_id is not None else []


def list_lookup_references(dataset: Dataset) -> list[str]:
    """Return every dataset that a dataset's lookups refer to, by id or name as written."""
    return [lookup.target.id for lookup in dataset.lookups if isinstance(lookup.target, DatasetTarget)]


def walk_references(start: Iterable[str], follow: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield references and all that they lead to, each once; `follow` returns where one leads."""
    waiting = deque(dict.fromkeys(start))
    seen = set(waiting)
    while waiting:
        reference = waiting.popleft()
        yield reference
        found = [name for name in dict.fromkeys(follow(reference)) if name not in seen]
        seen.update(found)
        waiting += found

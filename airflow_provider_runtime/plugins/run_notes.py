"""The note of a DAG run: its period and result, so that a list of runs can be read without opening one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from airflow.listeners import hookimpl

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)
OPERATORS = ("RunProjectOperator", "PublishRunOperator")
"""Whose answers say what was published, the later one last."""


class RunNotes:
    """Writes notes when runs end; called by the scheduler, which nothing here may stop."""

    @hookimpl
    def on_dag_run_success(self, dag_run: DagRun, msg: str) -> None:
        """Note what a run has published."""
        del msg
        write_note(dag_run)

    @hookimpl
    def on_dag_run_failed(self, dag_run: DagRun, msg: str) -> None:
        """Note which tasks of a run have failed."""
        del msg
        write_note(dag_run)


def write_note(dag_run: DagRun) -> None:
    """Put one line before what people have noted."""
    from sqlalchemy.orm import object_session

    try:
        session = object_session(dag_run)
        line = None if session is None else _describe(dag_run, session)
        if line is not None:
            dag_run.note = add_line(dag_run.note, line)
    except Exception:
        log.exception("no note for the run %s of %s", dag_run.run_id, dag_run.dag_id)


def _describe(dag_run: DagRun, session: Session) -> str | None:
    """Return the line about a run of projects; None for all other runs."""
    from airflow.models.taskinstance import TaskInstance
    from sqlalchemy import select

    wanted = (TaskInstance.dag_id == dag_run.dag_id, TaskInstance.run_id == dag_run.run_id)
    tasks = session.execute(
        select(TaskInstance.task_id, TaskInstance.map_index, TaskInstance.operator, TaskInstance.state).where(*wanted)
    ).all()
    ours = [task.task_id for name in OPERATORS for task in tasks if task.operator == name]
    if not ours:
        return None
    results = _read_results(dag_run, ours, session)
    failed = sorted({task.task_id for task in tasks if task.state == "failed"})
    return describe(dag_run.partition_key, results, failed)


def _read_results(dag_run: DagRun, task_ids: Iterable[str], session: Session) -> list[Mapping[str, Any]]:
    """Return what the tasks have answered; a later task's answer goes before an earlier one's of the same run."""
    from airflow.models.xcom import XCOM_RETURN_KEY, XComModel

    query = XComModel.get_many(
        run_id=dag_run.run_id, dag_ids=dag_run.dag_id, task_ids=list(task_ids), key=XCOM_RETURN_KEY
    )
    order = {task_id: number for number, task_id in enumerate(task_ids)}
    found: Iterable[Any] = session.scalars(query)
    entries = sorted(found, key=lambda entry: (order[entry.task_id], entry.map_index))
    answers = [XComModel.deserialize_value(entry) for entry in entries]
    by_run = {answer["run_id"]: answer for answer in answers if isinstance(answer, Mapping) and "run_id" in answer}
    return list(by_run.values())


def describe(period: str | None, results: Iterable[Mapping[str, Any]], failed: Iterable[str]) -> str | None:
    """Return a line like `2026-05: 14 rows, 3 outputs, Monthly Close v3`."""
    parts = [_describe_result(result) for result in results]
    failed = list(failed)
    if failed:
        parts.append(f"{period or 'no period'}: failed in {', '.join(failed)}")
    return "; ".join(parts) or None


def _describe_result(result: Mapping[str, Any]) -> str:
    outputs = result["outputs"]
    rows = sum(output["rows"] or 0 for output in outputs)
    parts = [_count(rows, "row"), _count(len(outputs), "output")]
    parts += [
        f"{output['registered_dataset']} v{output['registered_version']}"
        for output in outputs
        if output["registered_version"]
    ]
    staged = ["staged"] if result["status"] == "staged" else []
    return f"{result['period']}: {', '.join([*staged, *parts])}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def add_line(note: str | None, line: str) -> str:
    """Return a note with the line before what was noted by others; the line of an earlier end goes."""
    period = line.partition(":")[0]
    kept = [text for text in (note or "").splitlines() if not text.startswith(f"{period}: ")]
    return "\n".join([line, *kept])[:1000]

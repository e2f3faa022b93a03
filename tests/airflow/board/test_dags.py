"""What the board knows of DAGs: read from their stored form, as the API server does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_runtime.board.dags import ProjectDag, _read_dag
from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable

pytestmark = pytest.mark.airflow


def read(dag: DAG) -> list[ProjectDag]:
    return list(_read_dag(dag.dag_id, DagSerialization.to_dict(dag)))


def test_mapped_tasks_name_project_and_catalog_too(home: Path) -> None:
    catalog = str(home / "catalog")
    with DAG("restate", schedule=None) as dag:
        ResolveOperator(task_id="one", project="fx-close", catalog=catalog)
        ResolveOperator.partial(task_id="many", project="valuation", catalog=catalog).expand(period=["2026-01"])
    assert sorted((found.project, found.catalog) for found in read(dag)) == [
        ("fx-close", catalog),
        ("valuation", catalog),
    ]


def test_calendar_level_and_end_are_those_of_the_dag(home: Path) -> None:
    end = datetime(2026, 3, 31, tzinfo=UTC)
    with DAG("close", schedule=PeriodTimetable(GREGORIAN, "month"), end_date=end, tags=["finance"]) as dag:
        ResolveOperator(task_id="resolve", project="fx-close", catalog=str(home / "catalog"))
    (found,) = read(dag)
    assert (found.calendar, found.level) == (GREGORIAN, "month")
    assert (found.end_date, found.tags) == (date(2026, 3, 31), ("finance",))

"""Snapshots of version 1 give the rows and ids that their own program gave.

`golden/version_1_*.json` were written by the last program of version 1 (folders were renamed since). They are never
written again: they stand for the snapshots that are in the stores of users.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.evidence.why import Question, make_request
from spark_jobs.contract.snapshot import SNAPSHOT_VERSION, parse_snapshot
from spark_jobs.rows.executor import execute, refuse_credentials
from spark_jobs.sinks.memory import MemorySinks
from spark_jobs.why import replay_rows
from tests.scenarios.test_why_random_projects import check_outputs

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["annotated", "append", "checks", "close", "joins", "kept_columns"])
def test_snapshot_of_version_1_gives_the_same_rows_and_ids(spark: SparkSession, name: str) -> None:
    content = (GOLDEN / f"version_1_{name}.json").read_bytes()
    assert json.loads(content)["snapshot_version"] == 1
    snapshot = parse_snapshot(content, hashlib.sha256(content).hexdigest())
    assert snapshot.snapshot_version == SNAPSHOT_VERSION
    sinks = MemorySinks()

    report = execute(spark, snapshot, sinks)

    expected = json.loads((GOLDEN / f"version_1_{name}_rows.json").read_text(encoding="utf-8"))
    assert [operation.rows_affected for operation in report.operations] == expected.pop("affected")
    found = {
        str(seq): {
            "columns": [column.name for column in table.columns],
            "rows": sorted([[None if value is None else str(value) for value in row] for row in table.rows], key=repr),
        }
        for seq, table in sinks.tables.items()
    }
    assert found == expected


@pytest.mark.parametrize("name", ["append", "close", "joins"])
def test_rows_of_a_snapshot_of_version_1_are_explained(spark: SparkSession, name: str) -> None:
    content = (GOLDEN / f"version_1_{name}.json").read_bytes()
    snapshot = parse_snapshot(content, hashlib.sha256(content).hexdigest())
    sinks = MemorySinks()
    execute(spark, snapshot, sinks)
    request = make_request(snapshot, Question("TRUE", limit=10_000))

    history = replay_rows(spark, snapshot, request, refuse_credentials, sinks.read_staged, lambda _: ())

    check_outputs(snapshot, sinks, history)

"""The same snapshots on a Spark Connect server as on a local Spark: same rows, same ids."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeTask
from tests.command_line import call

pytestmark = [pytest.mark.integration, pytest.mark.spark]

STAMP = "2026-02-01T00:00:00Z"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter project, with row ids in its output, run once on a Spark of its own; what it wrote is set aside."""
    folder = tmp_path_factory.mktemp("books") / "project"
    call(folder.parent, "airflow-runtime", "init", str(folder))
    definition = folder / "catalog" / "fx_conversion.yaml"
    text = definition.read_text().replace("columns: [journal_id,", "columns: [_row_id, journal_id,")
    assert "_row_id" in text
    definition.write_text(text)
    run(folder, "local[2]")
    (folder / "warehouse").rename(folder / "expected")
    (folder / "report.json").rename(folder / "expected.json")
    return folder


def run(folder: Path, master: str, *more: str, status: int = 0) -> str:
    options = ("--project", "fx-conversion", "--period", "2026-01", "--timestamp", STAMP, "--master", master)
    return call(folder, "airflow-runtime", "run", *options, "--report", "report.json", *more, status=status)


def read(folder: Path, table: str) -> list[tuple[Any, ...]]:
    return sorted(duckdb.sql(f"FROM read_parquet('{folder}/{table}/**/*.parquet')").fetchall(), key=str)


def read_counts(report: Path) -> list[tuple[int, int, int]]:
    operations = json.loads(report.read_text())["operations"]
    return [(operation["seq"], operation["rows_affected"], operation["rows_after"]) for operation in operations]


def check_equal(project: Path, made: Path) -> None:
    for table in ("transactions_usd", "account_totals"):
        rows = read(project / "expected", table)
        assert rows
        assert read(made, table) == rows


def test_the_command_runs_on_a_server_with_the_same_result(project: Path, connect_server: int) -> None:
    run(project, f"sc://127.0.0.1:{connect_server}")
    check_equal(project, project / "warehouse")
    counts = [read_counts(project / name) for name in ("expected.json", "report.json")]
    assert counts[0] == counts[1]


def test_an_error_of_the_data_is_reported_as_usual(project: Path, connect_server: int) -> None:
    source = project / "data" / "transactions" / "2026-01.csv"
    before = source.read_text()
    source.write_text(before + "JE-X,4000,EUR,a lot\n")
    try:
        said = run(project, f"sc://127.0.0.1:{connect_server}", "--registry", "sqlite:///other.db", status=1)
    finally:
        source.write_text(before)
    assert "DATA_003" in said
    assert "a lot" in said


def test_a_server_that_is_not_there_is_an_error_with_a_code(project: Path) -> None:
    said = run(project, "sc://127.0.0.1:1", "--registry", "sqlite:///other.db", status=1)
    assert "INFRA_001" in said
    assert "Traceback" not in said


def test_a_task_with_a_connection_to_a_server_runs_there(
    project: Path, connect_server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    address = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": connect_server}
    monkeypatch.setenv("AIRFLOW_CONN_WARM", json.dumps(address))
    # What the command wrote is out of the way, where its test ran before.
    with contextlib.suppress(FileNotFoundError):
        (project / "warehouse").rename(tmp_path / "of-the-command")
    task = FakeTask()
    resolve = ResolveOperator(task_id="resolve", project="fx-conversion", catalog=str(project / "catalog"))
    task.xcom["resolve"] = resolve.execute(task.context("resolve"))
    operator = RunProjectOperator(task_id="run", snapshot=task.xcom["resolve"], conn_id="warm")
    operator.execute(task.context())
    columns = "journal_id, account, currency, amount_local, amount_usd"
    rows = [
        sorted(duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/transactions_usd/**/*.parquet')").fetchall())
        for folder in (project / "expected", project / "warehouse")
    ]
    assert rows[0] == rows[1]

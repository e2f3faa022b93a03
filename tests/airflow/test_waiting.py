"""The resolve task waits for data in PostgreSQL and in tables of Iceberg and Delta, and pins what it finds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import AirflowRescheduleException
from click.testing import CliRunner

from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.operators.resolve import ResolveOperator
from tests.airflow.tasks import FakeTask
from tests.datasets import MONEY, define_dataset
from tests.integration.postgres import PostgresServer
from tests.integration.tables.kit import TableKit, lines

pytestmark = pytest.mark.airflow
CATALOG = """
resolver:
  id: tables
  version: 1
  is_default: true
  rules: [{name: tables, strategy: {type: table, datasource_id: books, table: TABLE}}]
---
datasource: {id: out, type: parquet, path_prefix: ../out}
---
project:
  id: close
  name: close
  version: 1
  input_dataset_id: ledger
  operations:
    - {seq: 10, name: write, type: output, arguments: {destination: {datasource_id: out, table: ledger}}}
"""
DATASOURCES = {
    "postgres": "datasource: {id: books, type: jdbc, credential_ref: env://BOOKS, options: {url: 'URL'}}",
    "iceberg": "datasource: {id: books, type: iceberg, path_prefix: ../warehouse,"
    " options: {name: lake, uri: 'sqlite:///../catalog.db'}}",
    "delta": "datasource: {id: books, type: delta, path_prefix: ..}",
}


def write_catalog(folder: Path, kind: str, table: str, url: str = "") -> None:
    (folder / "catalog").mkdir()
    documents = [
        CATALOG.replace("TABLE", table),
        DATASOURCES[kind].replace("URL", url),
        define_dataset("ledger", account="string", amount=MONEY),
    ]
    (folder / "catalog" / "close.yaml").write_text("\n---\n".join(documents))


def resolve(folder: Path, **task: Any) -> dict[str, Any]:
    operator = ResolveOperator(
        task_id="resolve", project="close", catalog=folder / "catalog", wait_for_data=timedelta(hours=1)
    )
    return operator.execute(FakeTask(partition_key="2026-02", **task).context("resolve"))


def dry_run(folder: Path) -> str:
    """Return what a dry run says of the input: whether it is there, last but one in its line, or the error."""
    place = ["--catalog", str(folder / "catalog"), "--registry", f"sqlite:///{folder}/registry.db"]
    result = CliRunner().invoke(root_command, ["run", *place, "--project", "close", "--period", "2026-02", "--dry-run"])
    if isinstance(result.exception, RuntimeProviderError):
        return str(result.exception)
    shown = [line for line in result.output.splitlines() if line.startswith("input ") and "ledger" in line]
    return shown[-1].split()[-2]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.integration
def test_rows_of_the_period_in_postgresql_are_waited_for(
    place: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = postgres_server.make_database().rsplit("/", 1)[1]
    monkeypatch.setenv("BOOKS", json.dumps({"user": "postgres", "password": "canary-4711"}))
    write_catalog(place, "postgres", "ledger", f"jdbc:postgresql://127.0.0.1:{postgres_server.port}/{name}")
    address = {"host": "127.0.0.1", "port": postgres_server.port, "user": "postgres", "dbname": name}
    with psycopg.connect(autocommit=True, **address) as connection:
        for sql in (
            "SELECT 1",
            "CREATE TABLE ledger (account text, amount numeric(18,2), _period text)",
            "INSERT INTO ledger VALUES ('A', 1, '2026-01')",
        ):
            connection.execute(sql)
            with pytest.raises(AirflowRescheduleException):
                resolve(place)
            assert dry_run(place) == "no"
        late = datetime.now(UTC) - timedelta(hours=2)
        with pytest.raises(AirflowFailException, match=r"DATA_001.*ledger.* after waiting 1:00:00") as failure:
            resolve(place, first_reschedule=late)
        assert "canary" not in str(failure.value)

        connection.execute("INSERT INTO ledger VALUES ('B', 2, '2026-02')")

    assert resolve(place)["period"] == "2026-02"
    assert dry_run(place) == "yes"


@pytest.mark.parametrize(("kind", "table"), [("iceberg", "finance.ledger"), ("delta", "ledger")])
def test_version_of_a_table_with_the_period_is_waited_for_and_pinned(place: Path, kind: Any, table: str) -> None:
    write_catalog(place, kind, table)
    kit = TableKit(kind, place)
    with pytest.raises(AirflowRescheduleException):
        resolve(place)
    assert "DATA_001" in dry_run(place)
    kit.publish(lines("2026-01", "1.00"))
    assert dry_run(place) == "2026-02)"
    with pytest.raises(AirflowRescheduleException):
        resolve(place)
    with pytest.raises(AirflowFailException, match=r"DATA_001.*ledger"):
        resolve(place, first_reschedule=datetime.now(UTC) - timedelta(hours=2))

    version = kit.publish(lines("2026-02", "2.00"), period="2026-02")

    pins = resolve(place)
    assert str(version) in json.dumps(pins["resolver_snapshot"])
    assert dry_run(place) == "yes"

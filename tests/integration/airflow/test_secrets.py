"""Secrets of connections go through runs on a real Airflow, one that succeeds and one that fails: none is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.integration.airflow.standalone import Standalone
from tests.integration.command_lines import watch_commands
from tests.integration.postgres import JDBC_DRIVER, PostgresServer, dump_database

pytestmark = [
    pytest.mark.integration,
    pytest.mark.airflow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not JDBC_DRIVER.is_file(), reason=f"no PostgreSQL JDBC driver at {JDBC_DRIVER}"),
]

MARK = "canary-"
BOOKS = {"login": "postgres", "password": "canary-21 '\"\\$`{ü}漢&=?@:/#", "extra": '{"sslpassword": "canary-22;--"}'}
REGISTRY_PASSWORD = "canary-23%40%2F"

CATALOG = """
datasource: {id: books, type: jdbc, options: {url: "%(books)s"}, credential_ref: airflow://secret_books}
---
datasource: {id: lake, type: parquet, path_prefix: lake}
---
resolver: {id: all-%(source)s, version: 1, is_default: true, rules: [
  {name: books, strategy: {type: table, datasource_id: books, table: "{{table_name}}"}}]}
---
dataset:
  id: gl-%(source)s
  name: GL %(source)s
  version: 1
  main_table:
    name: %(source)s
    columns: [{name: id, type: integer}, {name: amount, type: decimal, precision: 9, scale: 2}]
---
project:
  id: p-%(source)s
  name: p-%(source)s
  version: 1
  input_dataset_id: gl-%(source)s
  operations:
    - {seq: 10, name: keep, type: output,
       arguments: {destination: {datasource_id: lake, path: out, shared: true}, register_as_dataset: Kept %(source)s}}
    - {seq: 20, name: tell, type: output, arguments: {destination: {datasource_id: books, table: told, shared: true}}}
"""

DAGS = """
from datetime import UTC, datetime, timedelta

from airflow_provider_runtime.dag_factory import project_dag

END = datetime(2026, 3, 31, tzinfo=UTC)
for name, source in (("secret-good", "journal"), ("secret-bad", "no_such_journal")):
    globals()[name] = project_dag(
        f"p-{source}", name, dag_id=name, end_date=END, runtime_conn_id="secret_runtime",
        run_args={"retries": 0, "conn_id": "spark_submit", "jars": "%(driver)s"},
    )
"""


@pytest.fixture(scope="module")
def secretive(airflow: Standalone, postgres_server: PostgresServer) -> str:
    """Two DAGs whose connections are full of secrets; returns the URL of the registry without them."""
    data, state = (postgres_server.make_database().rsplit("/", 1)[1] for _ in range(2))
    address = f"127.0.0.1:{postgres_server.port}"
    with psycopg.connect(f"postgresql://postgres@{address}/{data}", autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE journal AS SELECT i::bigint AS id, 1.25::numeric(9,2) AS amount FROM generate_series(1, 9) i"
        )
    for name, source in (("secret-good", "journal"), ("secret-bad", "no_such_journal")):
        (airflow.dags / name).mkdir()
        text = CATALOG % {"books": f"jdbc:postgresql://{address}/{data}", "source": source}
        (airflow.dags / name / "all.yaml").write_text(text)
    url = f"postgresql://postgres:{REGISTRY_PASSWORD}@{address}/{state}"
    stores = {key: str(airflow.home / "stores" / key) for key in ("snapshot_store", "slice_store")}
    for connection_id, values in (
        ("secret_books", {"conn_type": "postgres", **BOOKS}),
        ("secret_runtime", {"conn_type": "runtime", "password": url, "extra": json.dumps(stores)}),
    ):
        airflow.api("POST", "/connections", {"connection_id": connection_id, **values})
    (airflow.dags / "secretive.py").write_text(DAGS % {"driver": JDBC_DRIVER})
    return f"postgresql://postgres@{address}/{state}"


@pytest.mark.parametrize(
    ("dag_id", "state", "said"), [("secret-good", "success", "rows to"), ("secret-bad", "failed", "DATA_001")]
)
def test_no_secret_of_a_connection_is_seen_in_airflow(
    airflow: Standalone, secretive: str, dag_id: str, state: str, said: str
) -> None:
    airflow.wait_for_dag(dag_id)
    with watch_commands() as commands:
        run_id = airflow.trigger(dag_id, "2026-01")
        assert airflow.wait_for_run(dag_id, run_id) == state
    shown = read_all_that_is_shown(airflow, dag_id, run_id)
    assert "snapshot_sha256" in shown["xcom of resolve"]
    assert "SparkSubmit" in "\n".join(commands)
    assert said in shown["log of run"], shown["log of run"][-3000:]
    assert "secret_runtime" in shown["rendered fields"]
    shown["registry"] = dump_database(secretive)
    assert {"success": "succeeded"}.get(state, state) in shown["registry"]
    shown["command lines"] = "\n".join(commands)
    assert [place for place, text in shown.items() if MARK in text] == []
    assert find_files_with_secrets(airflow) == []


def read_all_that_is_shown(airflow: Standalone, dag_id: str, run_id: str) -> dict[str, str]:
    """Return what the UI has of a run, as texts by place: it asks the same REST interface."""
    run = f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"
    shown: dict[str, Any] = {
        "run": airflow.api("GET", run),
        "rendered fields": airflow.api("GET", f"{run}/taskInstances"),
        "list of xcoms": airflow.api("GET", f"{run}/taskInstances/~/xcomEntries"),
        "dag": airflow.api("GET", f"/dags/{dag_id}/details"),
        "events": airflow.api("GET", f"/eventLogs?dag_id={dag_id}"),
        "assets": airflow.api("GET", "/assets/events"),
        "import errors": airflow.api("GET", "/importErrors"),
    }
    for task_id in ("resolve", "run"):
        task = f"{run}/taskInstances/{task_id}"
        shown[f"log of {task_id}"] = airflow.read_log(dag_id, run_id, task_id)
        for entry in airflow.api("GET", f"{task}/xcomEntries")["xcom_entries"]:
            name = f"xcom of {task_id}" if entry["key"] == "return_value" else f"xcom {entry['key']} of {task_id}"
            shown[name] = airflow.api("GET", f"{task}/xcomEntries/{entry['key']}?stringify=true")
    return {place: json.dumps(content, ensure_ascii=False).replace('\\"', '"') for place, content in shown.items()}


def find_files_with_secrets(airflow: Standalone) -> list[str]:
    """Look through everything below Airflow's home: logs, its database, snapshots, slices, reports."""
    files = [path for folder in (airflow.home, airflow.dags) for path in Path(folder).rglob("*") if path.is_file()]
    assert any(path.suffix == ".json" and "snapshot" in str(path) for path in files)
    return [str(path) for path in files if MARK.encode() in path.read_bytes()]

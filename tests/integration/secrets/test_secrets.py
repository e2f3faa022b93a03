"""A dozen secrets of different shapes go through a run, and through runs that fail; none may be seen anywhere.

Every secret holds a marker that no spelling changes (`canary-01` …): it is searched in all that leaves the processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.command_line import invoke
from tests.integration.command_lines import watch_commands
from tests.integration.postgres import JDBC_DRIVER, PostgresServer, dump_database

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.skipif(not JDBC_DRIVER.is_file(), reason=f"no PostgreSQL JDBC driver at {JDBC_DRIVER}"),
]

MARK = "canary-"
TOKENS = {"BASIC": json.dumps({"user": "svc", "password": "canary-01:p@ss=w/rd"}), "BEARER": "eyJ.canary-02.$x=="}
LAKE = {
    "fs.s3a.secret.key": "canary-03/+=",
    "fs.custom.sas": "canary-04?sig=%2F",
    "fs.azure.account.key.x": "canary-05",
}
WAREHOUSE = {
    "user": "postgres",
    "password": "canary-06 '\"\\$`{ü}漢 &=?@:/#",
    "sslpassword": "canary-07;--",
    "sslfactoryarg": "-----BEGIN-----\ncanary-08\n\t-----END-----",
}
BOOKS = {"conn_type": "postgres", "login": "postgres", "password": "canary-09 %40 \\u00fc", "extra": {"x": "canary-10"}}
AUDIT = "://u:canary-11@h"
REGISTRY_PASSWORD = "canary-12%40%2F%3A"

CATALOG = """
datasource: {id: books, type: jdbc, options: {url: "%(jdbc)s"}, credential_ref: airflow://books}
---
datasource: {id: dwh, type: jdbc, options: {url: "%(jdbc)s"}, credential_ref: env://WAREHOUSE}
---
datasource: {id: audit, type: jdbc, options: {url: "%(jdbc)s&user=postgres"}, credential_ref: env://AUDIT}
---
datasource: {id: lake, type: parquet, path_prefix: lake, credential_ref: env://LAKE}
---
resolver:
  id: all
  version: 1
  is_default: true
  rules:
    - name: basic
      when: table.name = "journal"
      strategy: {type: catalog, endpoint: "%(service)s/basic", auth: env://BASIC, params: {table: "{{table_name}}"}}
    - {name: bearer, strategy: {type: catalog, endpoint: "%(service)s/bearer", method: POST, auth: env://BEARER}}
---
dataset:
  id: gl
  name: GL
  version: 1
  main_table: {name: journal, columns: [{name: id, type: integer}, {name: code, type: string}]}
---
dataset:
  id: codes
  name: Codes
  version: 1
  main_table: {name: codes, columns: [{name: code, type: string}, {name: rate, type: decimal, precision: 9, scale: 2}]}
---
project:
  id: p
  name: p
  version: 1
  input_dataset_id: gl
  operations:
    - seq: 10
      name: join
      type: update
      arguments:
        joins: [{alias: c, dataset_id: codes, on: journal.code = c.code}]
        assignments: [{column: rate, expression: c.rate}]
    - seq: 20
      name: keep
      type: output
      arguments: {destination: {datasource_id: lake, path: out}, register_as_dataset: R}
    - {seq: 30, name: tell, type: output, arguments: {destination: {datasource_id: dwh, table: out}}}
    - {seq: 40, name: audit, type: output, arguments: {destination: {datasource_id: audit, table: audit}}}
"""


class Service(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def answer(self) -> None:
        self.seen.append(str(self.headers["Authorization"]))
        table = "journal" if "basic" in self.path else "codes"
        body = json.dumps({"locations": [{"datasource_id": "books", "table": table}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Service,), {"seen": seen}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


@pytest.fixture
def place(
    tmp_path: Path, postgres_server: PostgresServer, service: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with a catalog, databases that let everybody in, and an environment full of secrets."""
    data, state = (postgres_server.make_database().rsplit("/", 1)[1] for _ in range(2))
    address = f"127.0.0.1:{postgres_server.port}"
    with psycopg.connect(f"postgresql://postgres@{address}/{data}", autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE journal AS SELECT i::bigint AS id, 'c' || i % 3 AS code FROM generate_series(1, 50) i"
        )
        connection.execute(
            "CREATE TABLE codes AS SELECT 'c' || i AS code, 1.5::numeric(9,2) AS rate FROM generate_series(0, 2) i"
        )
    (tmp_path / "catalog").mkdir()
    (tmp_path / "log").mkdir()
    url = f"jdbc:postgresql://{address}/{data}?ApplicationName=books"
    (tmp_path / "catalog" / "all.yaml").write_text(CATALOG % {"jdbc": url, "service": service[0]})
    secrets = {
        **TOKENS, "LAKE": json.dumps(LAKE), "WAREHOUSE": json.dumps(WAREHOUSE), "AUDIT": AUDIT,
        "AIRFLOW_CONN_BOOKS": json.dumps(BOOKS), "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW_RUNTIME_REGISTRY": f"postgresql://postgres:{REGISTRY_PASSWORD}@{address}/{state}",
        "PYTHONPATH": os.getcwd(), "NO_COLOR": "1",
    }  # fmt: skip
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find_in_files(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]


def test_no_secret_of_a_run_is_seen_anywhere(place: Path, service: tuple[str, list[str]]) -> None:
    conf = {
        "spark.jars": str(JDBC_DRIVER),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{place}/log",
        # As it is by default, nothing could be found in it.
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
    }
    settings = [argument for key, value in conf.items() for argument in ("--conf", f"{key}={value}")]
    arguments = ["run", "--project", "p", "--period", "2026-01", "--report", "report.json", "--master", "local[1]"]
    command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", *arguments, *settings]
    with watch_commands() as commands:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert ended.returncode == 0, ended.stderr[-3000:]
    # The secrets were really used.
    basic = b64encode(f"svc:{json.loads(TOKENS['BASIC'])['password']}".encode()).decode()
    assert set(service[1]) == {f"Basic {basic}", f"Bearer {TOKENS['BEARER']}"}
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in commands)
    assert any(b"SparkListenerSQLExecutionStart" in path.read_bytes() for path in (place / "log").rglob("events_*"))
    assert (place / "report.json").is_file()
    dumped = dump_database(os.environ["AIRFLOW_RUNTIME_REGISTRY"])
    assert "succeeded" in dumped
    # And are nowhere to be seen.
    assert not [line for line in commands if MARK in line]
    assert MARK not in ended.stdout + ended.stderr
    assert MARK not in dumped
    assert find_in_files(place) == []
    for said in (
        invoke("explain", "--project", "p", "--format", "json"),
        invoke("validate", "--format", "json"),
    ):
        assert said.exit_code == 0, said.output
        assert MARK not in said.output


FAILURES = {
    "no such host": "127.0.0.1: => no-such-host.invalid:",
    "nobody listens": "jdbc:postgresql://127.0.0.1 => jdbc:postgresql://127.0.0.1:1/none?ApplicationName=",
    "no such user": "&user=postgres => &user=nobody",
    "no such table": "table: out}} => table: pg_catalog.out}}",
    "no such driver": "jdbc:postgresql://127 => jdbc:unknown://127",
}


@pytest.mark.usefixtures("commands_share_spark")
@pytest.mark.parametrize("change_text", FAILURES.values(), ids=FAILURES)
def test_no_secret_is_in_what_a_failed_run_says(
    place: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], change_text: str
) -> None:
    old, _, new = change_text.partition(" => ")
    path = place / "catalog" / "all.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    said = invoke("run", "--project", "p", "--period", "2026-01", "--report", "report.json")
    assert said.exit_code == 1, said.output
    assert said.exception is None or isinstance(said.exception, SystemExit), said.exception
    assert "_00" in said.output
    shown = "".join(capfd.readouterr())
    assert MARK not in said.output + caplog.text + shown + dump_database(os.environ["AIRFLOW_RUNTIME_REGISTRY"])
    assert find_in_files(place) == []


@pytest.mark.parametrize(
    "options",
    [
        {"url": "jdbc:postgresql://u:canary-20@h/d"},
        {"url": "jdbc:postgresql://h/d?password=canary-21"},
        {"url": "jdbc:sqlserver://h;user=u;password={canary-22;x}"},
        {"url": "jdbc:oracle:thin:scott/canary-23@h"},
        {"url": "jdbc:x://h", "password": "canary-24"},
        {"url": "jdbc:x://h", "Client-Secret": "canary-25"},
        {"url": "jdbc:x://h", "fs.s3a.secret.key": "canary-26"},
        {"url": "https://h/?api_key=canary-27"},
        {"url": "https://h/?apikey=canary-28&x=1"},
        {"url": "wasbs://h;AccountKey=canary-29=="},
        {"url": "https://h/?x=1&sig=canary-30%2F"},
    ],
    ids=lambda options: next(word for word in json.dumps(options).split('"') if MARK in word)[:40],
)
@pytest.mark.parametrize("output_format", ["text", "json", "github"])
def test_secret_written_into_a_definition_is_refused_and_not_repeated(
    tmp_path: Path, options: dict[str, str], output_format: str
) -> None:
    datasource = {"datasource": {"id": "x", "type": "jdbc", "options": options}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(datasource))
    said = invoke("validate", "--catalog", tmp_path, "--format", output_format)
    assert said.exit_code == 1
    assert "CATALOG_002" in said.output
    assert MARK not in said.output

"""Whole runs whose data are found by a web service, and by a class of the user's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import invoke
from tests.integration.runs.workplace import Workplace, make_output, make_project, money

pytestmark = [pytest.mark.spark, pytest.mark.integration]

CANARY = "canary-in-the-header"
FINDER = """
from airflow_provider_runtime.core.planning.resolve.resolver_class import Location, ResolveRequest


class Finder:
    def resolve(self, request: ResolveRequest) -> list[Location]:
        return [Location("lake", path=f"elsewhere/{request.table}-{request.period.identifier}.csv")]
"""


class Service(BaseHTTPRequestHandler):
    """Knows where the sales are, for those who bring the token."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == f"Bearer {CANARY}"
        location = {"datasource_id": "lake", "path": "elsewhere/sales-2026-01.csv"}
        body = json.dumps({"locations": [location]} if known else {}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def write_finder(workplace: Workplace, resolver: dict[str, Any]) -> None:
    """Write a project whose input is found by this resolver, and data where only the resolver knows."""
    workplace.write_catalog("finder.yaml", {"resolver": {"id": "finder", "version": 1, **resolver}})
    operations = [make_output(10, "found", columns=["shop", "amount"])]
    workplace.write_catalog("p.yaml", make_project("p", operations, resolver_overrides={"sales": "finder"}))
    place = workplace.folder / "data" / "elsewhere" / "sales-2026-01.csv"
    place.parent.mkdir(parents=True)
    place.write_text("shop,amount\nnorth,10.00\n")


def run(workplace: Workplace, *more: str) -> Any:
    """Run the command itself, on a session that it finds."""
    return invoke("run", "--catalog", workplace.folder / "catalog", "--registry", workplace.url, *more)


@pytest.mark.usefixtures("commands_share_spark")
def test_run_asks_a_service_and_its_snapshot_asks_nobody(
    workplace: Workplace, service: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINDER_TOKEN", CANARY)
    monkeypatch.chdir(workplace.folder)
    endpoint = f"http://127.0.0.1:{service.server_port}/find"
    strategy = {"type": "catalog", "endpoint": endpoint, "auth": "env://FINDER_TOKEN"}
    write_finder(workplace, {"rules": [{"name": "ask", "strategy": strategy}]})

    done = run(workplace, "--project", "p", "--period", "2026-01")
    assert done.exit_code == 0, done.output
    assert workplace.read("found", "shop", "amount") == [("north", money("10.00"))]
    written = [path for path in workplace.folder.rglob("*") if path.is_file()]
    assert not [path for path in written if CANARY.encode() in path.read_bytes()]
    assert CANARY not in done.output

    (snapshot,) = [path for path in workplace.folder.rglob("*.json") if len(path.stem) == 64]
    monkeypatch.setenv("FINDER_TOKEN", "another")
    refused = run(workplace, "--project", "p", "--period", "2026-01")
    assert refused.exit_code == 1
    assert "RESOLVE_003" in refused.output
    assert "status 401" in refused.output
    service.shutdown()
    service.server_close()
    away = run(workplace, "--project", "p", "--period", "2026-01")
    assert away.exit_code == 1
    assert "INFRA_001" in away.output
    again = run(workplace, "--snapshot", str(snapshot))
    assert again.exit_code == 0, again.output


def test_run_asks_a_class(workplace: Workplace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "my_finder.py").write_text(FINDER)
    monkeypatch.syspath_prepend(tmp_path)
    write_finder(workplace, {"class": "my_finder.Finder"})
    workplace.run("p", "2026-01")
    assert workplace.read("found", "shop", "amount") == [("north", money("10.00"))]
    missing = workplace.execute(workplace.resolve("p", "2026-02"))
    assert [problem.code for problem in missing.problems] == ["DATA_001"]

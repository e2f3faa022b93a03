"""An Iceberg REST catalog for tests: the protocol of its clients, over pyiceberg's own SQL catalog."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

from pyiceberg import exceptions
from pyiceberg.catalog.rest import CreateTableRequest, TableResponse
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

CLIENT, SECRET, TOKEN = "close", "canary-4711", "token-0815"
LEFT_OUT = {"location": None, "partition-spec": None, "write-order": None}
STATUS = {
    exceptions.NoSuchTableError: 404,
    exceptions.NoSuchNamespaceError: 404,
    exceptions.TableAlreadyExistsError: 409,
    exceptions.NamespaceAlreadyExistsError: 409,
    exceptions.CommitFailedException: 409,
}


class RestCatalogServer:
    """A catalog behind HTTP, which can be told to fail."""

    def __init__(self, catalog: SqlCatalog) -> None:
        self.catalog = catalog
        self.commits = 0
        self.lose_answers = 0
        """How many commits take place and are then answered by an error of a gateway."""
        self.refuse_commits = 0
        """The status with which commits are refused, if any."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator[RestCatalogServer]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()
            self.catalog.close()

    def answer(self, method: str, parts: list[str], body: bytes) -> tuple[int, str]:
        match method, parts:
            case "GET", ["config"]:
                return 200, json.dumps({"defaults": {}, "overrides": {}})
            case "POST", ["oauth", "tokens"]:
                form = parse_qs(body.decode())
                if (form["client_id"], form["client_secret"]) != ([CLIENT], [SECRET]):
                    return 401, json.dumps({"error": "invalid_client"})
                return 200, json.dumps({"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600})
            case "POST", ["namespaces"]:
                asked = json.loads(body)
                self.catalog.create_namespace(tuple(asked["namespace"]))
                return 200, json.dumps({"namespace": asked["namespace"], "properties": {}})
            case (("GET" | "HEAD"), ["namespaces", namespace]):
                self.catalog.load_namespace_properties(namespace)
                return 200, json.dumps({"namespace": [namespace], "properties": {}})
            case "POST", ["namespaces", namespace, "tables"]:
                return 200, self._create(namespace, CreateTableRequest.model_validate({**LEFT_OUT, **json.loads(body)}))
            case (("GET" | "HEAD"), ["namespaces", namespace, "tables", name]):
                return 200, self._describe(self.catalog.load_table((namespace, name)))
            case "POST", ["namespaces", namespace, "tables", name]:
                return self._commit((namespace, name), CommitTableRequest.model_validate_json(body))
        return 404, json.dumps({"error": {"message": "no such route", "type": "NotFound", "code": 404}})

    def _create(self, namespace: str, asked: CreateTableRequest) -> str:
        create = self.catalog.create_table_transaction if asked.stage_create else self.catalog.create_table
        if not self.catalog.namespace_exists(namespace):
            raise exceptions.NoSuchNamespaceError(namespace)
        made: Any = create(
            (namespace, asked.name),
            asked.table_schema,
            asked.location,
            asked.partition_spec,
            asked.write_order or UNSORTED_SORT_ORDER,
            asked.properties,
        )
        return self._describe(made._table if asked.stage_create else made, is_staged=asked.stage_create)

    @staticmethod
    def _describe(table: Any, *, is_staged: bool = False) -> str:
        location = None if is_staged else table.metadata_location
        return TableResponse(metadata=table.metadata, **{"metadata-location": location}).model_dump_json(by_alias=True)

    def _commit(self, identifier: tuple[str, str], asked: CommitTableRequest) -> tuple[int, str]:
        if self.refuse_commits:
            message = {"message": "not you", "type": "Forbidden", "code": self.refuse_commits}
            return self.refuse_commits, json.dumps({"error": message})
        table: Any = SimpleNamespace(name=lambda: identifier)
        made = self.catalog.commit_table(table, asked.requirements, asked.updates)
        self.commits += 1
        if self.lose_answers:
            self.lose_answers -= 1
            return 502, json.dumps({"error": {"message": "the gateway has gone", "type": "BadGateway", "code": 502}})
        return 200, made.model_dump_json(by_alias=True)

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        catalog = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply()

            do_POST = do_HEAD = do_DELETE = do_GET

            def _reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = [unquote(part) for part in urlparse(self.path).path.strip("/").split("/")[1:]]
                status, text = self._answer(parts, body)
                content = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def _answer(self, parts: list[str], body: bytes) -> tuple[int, str]:
                is_open = parts == ["oauth", "tokens"]
                if not is_open and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    return 401, json.dumps({"error": {"message": "who?", "type": "NotAuthorized", "code": 401}})
                try:
                    return catalog.answer(self.command, parts, body)
                except tuple(STATUS) as error:
                    status = STATUS[type(error)]
                    message = {"message": str(error), "type": type(error).__name__, "code": status}
                    return status, json.dumps({"error": message})

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

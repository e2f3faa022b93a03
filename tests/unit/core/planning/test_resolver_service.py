"""Resolvers that ask a web service: a real server on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit

import pytest

from airflow_provider_runtime.core.errors import DefinitionError, InfrastructureError
from airflow_provider_runtime.core.planning.resolve import resolver_service
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from tests.effort import count_steps
from tests.unit.core.planning.resolve_builder import (
    OPTIONS,
    OUTPUT,
    list_locations,
    list_problems,
    load,
    resolve,
    write_project,
    write_resolver,
)

CANARY = "s3cr3t-canary"


@dataclass
class Service:
    """What the server answers, and what it was asked."""

    port: int = 0
    status: int = 200
    answer: bytes = b'{"locations": [{"datasource_id": "lake", "path": "a"}]}'
    headers: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    """How many bytes more it announces than it sends."""
    raw: str = ""
    """What it sends in place of an answer; AUTH stands for the header it was asked with."""
    asked: list[tuple[str, str, dict[str, object], str | None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def write(self, extra: str = "", path: str = "/find") -> str:
        """Return a resolver that asks this server."""
        params = '{table: "{{table_name}}", period: "{{identifier}} & more"}'
        strategy = f'{{type: catalog, endpoint: "{self.url}{path}", params: {params}{extra}}}'
        return write_resolver(f"{{name: ask, data_level: month, strategy: {strategy}}}")


@pytest.fixture
def service() -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            self.reply(dict(query))

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, params: dict[str, object]) -> None:
            state.asked.append((self.command, urlsplit(self.path).path, params, self.headers.get("Authorization")))
            if state.raw:
                self.wfile.write(state.raw.replace("AUTH", self.headers["Authorization"]).encode())
                return
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(state.answer) + state.missing))
            self.end_headers()
            self.wfile.write(state.answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def test_service_is_asked_with_params_in_the_query(service: Service) -> None:
    locations = list_locations(resolve(service.write(), write_project(OUTPUT)))
    assert service.asked == [("GET", "/find", {"table": "transactions", "period": "2026-01 & more"}, None)]
    assert [(found.uri, found.period) for found in locations] == [("file:///catalog/data/lake/a", "2026-01")]


def test_service_is_asked_by_post_with_json_and_credential(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_TOKEN", CANARY)
    snapshot = resolve(service.write(", method: POST, auth: env://CATALOG_TOKEN"), write_project(OUTPUT))
    params = {"table": "transactions", "period": "2026-01 & more"}
    assert service.asked == [("POST", "/find", params, f"Bearer {CANARY}")]
    assert CANARY.encode() not in snapshot.content


def test_service_gets_user_and_password_as_basic_authentication(service: Service) -> None:
    loaded = load(service.write(", auth: airflow://cat"), write_project(OUTPUT))
    secret = json.dumps({"user": "u", "password": "p"})
    build_snapshot(loaded, "conversion", "2026-01", OPTIONS, read_credential=lambda _: secret)
    assert service.asked[0][3] == "Basic dTpw"


def test_service_is_asked_for_each_child_period_and_may_name_periods(service: Service) -> None:
    entries = [
        {"datasource_id": "dwh", "table": "gl", "schema": "s", "period": "2026-02"},
        {"uri": "s3a://b/c", "type": "orc", "options": {"a": "b"}},
    ]
    service.answer = json.dumps({"locations": entries}).encode()
    locations = list_locations(resolve(service.write(), write_project(OUTPUT, level="quarter"), period="2026-Q1"))
    assert len(service.asked) == 3
    assert [found.period for found in locations] == ["2026-02", "2026-01", "2026-02", "2026-03"]
    assert (locations[0].table, locations[1].uri, locations[1].options) == ("s.gl", "s3a://b/c", {"a": "b"})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"<html>", "did not answer with JSON"),
        (b"[" * 100_000, "did not answer with JSON"),
        (b"{}", "without a list of locations"),
        (b'{"locations": [1]}', "without a list of locations"),
        (b'{"locations": []}', "knows no location"),
        (b'{"locations": [{"file": "a"}]}', "unknown key 'file'"),
        (b'{"locations": [{"uri": 1, "type": "orc"}]}', "uri is not a text"),
        (b'{"locations": [{"path": "a"}]}', "a location has a datasource_id with a path"),
        (b'{"locations": [{"uri": "relative", "type": "orc"}]}', "is not absolute"),
        (b'{"locations": [{"uri": "jdbc://u:p@h/x", "type": "orc"}]}', "holds a password"),
        (b'{"locations": [{"uri": "https://h/x?sig=hunter2", "type": "orc"}]}', "holds a password"),
        (b'{"locations": [{"datasource_id": "lake", "path": "a", "period": "May"}]}', "not in the calendar"),
        (b'{"locations": [{"datasource_id": "lake", "path": "a", "period": "2025-12"}]}', "neither 2026-01, nor"),
        (b'{"locations": [{"datasource_id": "lake", "path": "a", "table": "b"}]}', "a path and a table"),
        (b'{"locations": [{"datasource_id": "lake", "path": "a", "path": "b"}]}', "'path' occurs twice in an object"),
        (b'{"locations": [{"datasource_id": "lake", "path": "a", "uri": "s3a://b"}]}', "a datasource_id and a uri"),
        (
            b'{"locations": [{"datasource_id": "lake", "path": "a", "type": "avro"}]}',
            "type is avro, and that of",
        ),
        (b'{"locations": [{"datasource_id": "lake", "path": "a\\ud800"}]}', "half a surrogate pair"),
        (b'{"locations": [{"\\ud800": "a"}]}', "unknown key '?'"),
    ],
)
def test_service_answer_that_is_wrong_is_resolve_003(service: Service, answer: bytes, words: str) -> None:
    service.answer = answer
    problems = list_problems(service.write(), write_project(OUTPUT))
    assert [problem.code for problem in problems] == ["RESOLVE_003"]
    assert words in problems[0].message
    assert problems[0].location.file == "2.yaml"


def test_steps_of_comparing_a_services_locations_with_outputs_grow_with_their_number(service: Service) -> None:
    outputs = (OUTPUT.replace("90", str(seq)).split(", register")[0] + "}\n" for seq in range(1, 51))
    project = write_project("".join(text.replace("out/gl", f"o{seq}") for seq, text in enumerate(outputs)))
    resolve(service.write(), project)
    steps = []
    for count in (150, 300):
        entries = [{"datasource_id": "lake", "path": f"x{number}"} for number in range(count)]
        service.answer = json.dumps({"locations": entries}).encode()
        steps.append(count_steps(lambda: resolve(service.write(), project)))
        assert len(list_locations(resolve(service.write(), project))) == count
    assert steps[1] < 2.2 * steps[0]


def test_service_path_out_of_the_prefix_is_refused(service: Service) -> None:
    service.answer = b'{"locations": [{"datasource_id": "lake", "path": "../../etc"}]}'
    assert list_problems(service.write(), write_project(OUTPUT))[0].code == "CATALOG_002"


@pytest.mark.parametrize(
    "options",
    [
        {"access.key": "x"},
        {"PassWord": "x"},
        {"endpoint": "https://h?si%67=x"},
        {"compression": "x.Y"},
        {"header": "true", "Header": "false"},
        {"Mode": "PERMISSIVE"},
    ],
)
def test_service_option_that_no_definition_may_have_is_refused(service: Service, options: dict[str, str]) -> None:
    service.answer = json.dumps({"locations": [{"uri": "s3a://b", "type": "CSV", "options": options}]}).encode()
    assert list_problems(service.write(), write_project(OUTPUT))[0].code == "CATALOG_002"


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"datasource_id": f"https://u:{CANARY}@h", "path": "a"}, "CATALOG_004"),
        ({"datasource_id": f"u:{CANARY}@h", "path": "a"}, "CATALOG_004"),
        ({"datasource_id": "dwh", "table": f"u:{CANARY}@h/t"}, "CATALOG_002"),
        ({"datasource_id": "dwh", "table": "t", "schema": f"//u:{CANARY}@h"}, "CATALOG_002"),
        ({"datasource_id": "lake", "table": f"//u:{CANARY}@h/t"}, "CATALOG_002"),
        ({"datasource_id": "lake", "path": f"u:{CANARY}@h/../t"}, "CATALOG_002"),
        ({"datasource_id": "lake", "path": "a", "period": f"//u:{CANARY}@h"}, "RESOLVE_003"),
        ({"datasource_id": "lake", "path": "a", f"//u:{CANARY}@h": "1"}, "RESOLVE_003"),
        ({"uri": "file:/a", "type": f"https://u:{CANARY}@h"}, "RESOLVE_003"),
        ({"uri": "file:/a", "type": "csv", "options": {f"//u:{CANARY}@h": "1"}}, "CATALOG_002"),
        ({"uri": "file:/a", "type": "csv", "options": {f"//u:{CANARY}@h": 1}}, "RESOLVE_003"),
    ],
)
def test_service_answer_with_a_login_is_refused_and_not_repeated(
    service: Service, entry: dict[str, object], code: str
) -> None:
    service.answer = json.dumps({"locations": [entry]}).encode()
    (problem,) = list_problems(service.write(), write_project(OUTPUT))
    assert problem.code == code
    assert CANARY not in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize("key", ["path", "table"])
def test_service_answer_that_is_too_long_is_refused(service: Service, key: str) -> None:
    service.answer = json.dumps({"locations": [{"datasource_id": "lake", key: "x" * 4_001}]}).encode()
    (problem,) = list_problems(service.write(), write_project(OUTPUT))
    assert (problem.code, len(problem.message) < 200) == ("RESOLVE_003", True)


def test_service_format_is_known_in_any_case(service: Service) -> None:
    service.answer = b'{"locations": [{"uri": "s3a://b", "type": "CSV"}]}'
    assert {found.format for found in list_locations(resolve(service.write(), write_project(OUTPUT)))} == {"csv"}


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (401, False), (302, False), (503, True), (429, True)])
def test_service_status_decides_whether_a_retry_helps(service: Service, status: int, retryable: bool) -> None:
    service.status, service.headers = status, {"Location": "/elsewhere"}
    loaded = load(service.write(), write_project(OUTPUT))
    with pytest.raises(Exception, match=f"status {status}") as caught:
        build_snapshot(loaded, "conversion", "2026-01", OPTIONS)
    assert getattr(caught.value, "retryable", None) is retryable
    assert len(service.asked) == 1
    assert ("redirects are not followed" in str(caught.value)) is (status == 302)


def test_service_that_does_not_answer_is_worth_a_retry(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_service, "TIMEOUT_SECONDS", 0.2)
    loaded = load(service.write().replace(str(service.port), "1"), write_project(OUTPUT))
    with pytest.raises(InfrastructureError):
        build_snapshot(loaded, "conversion", "2026-01", OPTIONS)


def test_service_answer_too_large_is_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_service, "MAX_ANSWER_BYTES", 10)
    assert list_problems(service.write(), write_project(OUTPUT))[0].code == "RESOLVE_003"


def test_service_answer_that_drips_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_service, "LONGEST_ANSWER_SECONDS", 0.0)
    with pytest.raises(InfrastructureError, match="did not answer within"):
        resolve(service.write(), write_project(OUTPUT))


@pytest.mark.parametrize("drop", [b"X", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_service_whose_headers_drip_is_given_up(drop: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_service, "LONGEST_ANSWER_SECONDS", 0.3)
    done = threading.Event()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            while not done.wait(0.05):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(InfrastructureError, match="did not answer within"):
            resolve(Service(server.getsockname()[1]).write(), write_project(OUTPUT))
        done.set()
        thread.join()


@pytest.mark.parametrize(
    "raw",
    [
        "AUTH\r\n\r\n",
        "HTTP/1.1 abc AUTH\r\n\r\n",
        "AUTH/9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nAUTH\r\nxx",
    ],
)
def test_service_that_does_not_speak_http_is_not_repeated(service: Service, raw: str) -> None:
    service.raw = raw
    loaded = load(service.write(", auth: env://CATALOG_TOKEN"), write_project(OUTPUT))
    with pytest.raises(InfrastructureError, match=r"cannot be reached: [A-Z][A-Za-z]+$") as caught:
        build_snapshot(loaded, "p1", "2026-01", OPTIONS, read_credential=lambda _: CANARY)
    assert CANARY not in str(caught.value)


def test_proxy_that_refuses_is_not_repeated() -> None:
    error = URLError(OSError(f"Tunnel connection failed: 407 {CANARY}"))
    assert resolver_service._name_failure(error) == "OSError"


def test_service_answer_that_breaks_off_is_worth_a_retry(service: Service) -> None:
    service.missing = 10
    with pytest.raises(InfrastructureError, match="ended its answer 10 bytes early"):
        resolve(service.write(), write_project(OUTPUT))


@pytest.mark.parametrize("secret", ["pässword", "a\x00b", "\u202eabc"])
def test_secret_that_no_header_can_carry_is_not_shown(
    service: Service, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    loaded = load(service.write(", auth: 'env://CATALOG_TOKEN'"), write_project(OUTPUT))
    with pytest.raises(DefinitionError, match="no header can carry") as caught:
        build_snapshot(loaded, "p1", "2026-01", OPTIONS, read_credential=lambda _: secret)
    assert secret not in str(caught.value)
    assert service.asked == []


@pytest.mark.parametrize(
    "secret",
    [
        '{"user": "' + CANARY + '", "password": ' + "[" * 100_000,
        '{"token": ' + "[" * 990 + f'"{CANARY}"' + "]" * 990 + "}",
        '{"user": "u", "password": "' + CANARY + '\\ud800"}',
        '{"user": "u", "password": "' + CANARY + '\udcff"}',
        CANARY + "\udcff",
    ],
    ids=["deep", "nested", "half a character", "no UTF-8", "token that is no UTF-8"],
)
def test_secret_that_cannot_be_read_is_catalog_004(service: Service, secret: str) -> None:
    loaded = load(service.write(", auth: env://CATALOG_TOKEN"), write_project(OUTPUT))
    with pytest.raises(DefinitionError) as caught:
        build_snapshot(loaded, "p1", "2026-01", OPTIONS, read_credential=lambda _: secret)
    assert caught.value.code == "CATALOG_004"
    assert CANARY not in str(caught.value)
    assert service.asked == []


def test_credential_that_cannot_be_read_is_catalog_004(service: Service) -> None:
    for reference in ("airflow://cat", "env://NOT_SET_ANYWHERE"):
        problems = list_problems(service.write(f", auth: {reference}"), write_project(OUTPUT))
        assert [problem.code for problem in problems] == ["CATALOG_004"]
    assert service.asked == []


def test_endpoint_of_another_scheme_is_refused() -> None:
    for endpoint in ("file:///etc/passwd", "ftp://host/x"):
        problems = list_problems(
            write_resolver(f'{{name: ask, strategy: {{type: catalog, endpoint: "{endpoint}"}}}}'), write_project(OUTPUT)
        )
        assert {problem.code for problem in problems} == {"CATALOG_002"}
    with pytest.raises(DefinitionError):
        resolver_service._make_request("GET", "file:///etc/passwd", {}, {})


def test_service_is_not_asked_when_locations_are_served(service: Service) -> None:
    locations = list_locations(resolve(service.write(), write_project(OUTPUT), locate=lambda _, found: found))
    assert [(found.kind, found.period) for found in locations] == [("memory", "2026-01")]
    assert service.asked == []

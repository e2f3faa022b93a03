"""Resolvers that ask a web service.

The service gets the rule's `params` in the query (GET) or as a JSON object (POST) and answers with JSON:

    {"locations": [{"datasource_id": "lake", "path": "gl/2026-01.parquet"},
                   {"datasource_id": "dwh", "table": "gl", "schema": "finance"},
                   {"uri": "s3a://bucket/gl/2026-01", "type": "parquet", "options": {"mergeSchema": "false"}}]}

Each location may carry the `period` whose rows it holds; the period that was asked for is the default. What `auth`
refers to is sent in the Authorization header: a JSON object with `user` and `password` as basic authentication, any
other secret as a bearer token.
"""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http.client import HTTPException, HTTPResponse
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from airflow_provider_runtime.core.catalog.templates import render_template
from airflow_provider_runtime.core.errors import DefinitionError, InfrastructureError, Problem, ResolveError
from airflow_provider_runtime.core.model.resolver import CatalogStrategy
from airflow_provider_runtime.core.planning.resolve.resolver_class import Location, show_text

CredentialReader = Callable[[str], str]
"""Returns the secret that a reference such as `env://TOKEN` stands for; raises DefinitionError when it cannot."""

TIMEOUT_SECONDS = 10.0
LONGEST_ANSWER_SECONDS = 30.0
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_LOCATIONS = 10_000
_KEYS = frozenset({"datasource_id", "path", "table", "schema", "uri", "type", "options", "period"})


def read_env_credential(reference: str) -> str:
    """Return the secret of an `env://VARIABLE` reference; CATALOG_004 for others and for a variable that is not set."""
    scheme, _, name = reference.partition("://")
    if scheme != "env":
        message = f"the credential '{reference}' cannot be read here"
        raise DefinitionError(Problem("CATALOG_004", message, "resolve in Airflow, or use env://VARIABLE"))
    if not os.environ.get(name):
        message = f"the environment variable of the credential '{reference}' is not set"
        raise DefinitionError(Problem("CATALOG_004", message, f"set {name} where the run is resolved"))
    return os.environ[name]


def ask_service(
    strategy: CatalogStrategy, values: Mapping[str, str], read_credential: CredentialReader | None = None
) -> tuple[Location, ...]:
    """Return the locations that the service answers with."""
    quoted = {name: quote(value, safe="") for name, value in values.items()}
    endpoint = render_template(strategy.endpoint, quoted)
    params = {name: render_template(text, values) for name, text in strategy.params.items()}
    headers = {"Accept": "application/json"}
    if strategy.auth:
        secret = (read_credential or read_env_credential)(strategy.auth)
        headers["Authorization"] = _make_authorization(secret)
    return _read_answer(endpoint, _fetch(_make_request(strategy.method, endpoint, params, headers), endpoint))


def _make_authorization(secret: str) -> str:
    try:
        parts = _read_parts(secret)
        if parts.get("user"):
            pair = f"{parts['user']}:{parts.get('password', '')}"
            return "Basic " + b64encode(pair.encode()).decode()
        token = "".join(str(parts.get("token") or parts.get("password") or secret).split())
    except (RecursionError, UnicodeEncodeError):
        problem = Problem("CATALOG_004", "the secret of `auth` is nested too deeply, or holds half a surrogate pair")
        raise DefinitionError(problem) from None
    if not (token.isascii() and token.isprintable()):
        problem = Problem("CATALOG_004", "the secret of `auth` has characters that no header can carry")
        raise DefinitionError(problem)
    return f"Bearer {token}"


def _read_parts(secret: str) -> dict[str, object]:
    try:
        return json.loads(secret) if secret.lstrip().startswith("{") else {}
    except ValueError:
        return {}


def _make_request(method: str, endpoint: str, params: dict[str, str], headers: dict[str, str]) -> Request:
    if urlsplit(endpoint).scheme not in ("http", "https"):
        message = f"the endpoint '{endpoint}' is not an http or https address"
        raise DefinitionError(Problem("CATALOG_002", message, "write it as https://host/path"))
    try:
        if method == "POST":
            body = json.dumps(params, sort_keys=True).encode()
            return Request(endpoint, body, {**headers, "Content-Type": "application/json"}, method="POST")
        separator = "&" if urlsplit(endpoint).query else "?"
        return Request(f"{endpoint}{separator}{urlencode(params)}" if params else endpoint, None, headers)
    except ValueError as error:
        raise DefinitionError(
            Problem("CATALOG_002", f"the endpoint '{endpoint}' is not an address: {error}")
        ) from error


def _fetch(request: Request, endpoint: str) -> bytes:
    """Ask in a separate thread: headers that arrive byte by byte never reach the connection's timeout."""
    answer: Future[bytes] = Future()

    def ask() -> None:
        try:
            answer.set_result(_ask(request, endpoint))
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    try:
        return answer.result(LONGEST_ANSWER_SECONDS)
    except TimeoutError:
        raise _unreachable(endpoint, f"did not answer within {LONGEST_ANSWER_SECONDS:.0f} s") from None


def _ask(request: Request, endpoint: str) -> bytes:
    try:
        with _make_opener().open(request, timeout=TIMEOUT_SECONDS) as response:
            content = _read_in_time(response, endpoint)
    except HTTPError as error:
        error.close()
        if error.code >= 500 or error.code == 429:
            raise _unreachable(endpoint, f"answered with status {error.code}") from None
        reason = ": redirects are not followed" if 300 <= error.code < 400 else ""
        raise _refuse(endpoint, f"answered with status {error.code}{reason}") from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise _unreachable(endpoint, f"cannot be reached: {_name_failure(error)}") from None
    if len(content) > MAX_ANSWER_BYTES:
        raise _refuse(endpoint, f"answered with more than {MAX_ANSWER_BYTES // 1024 // 1024} MB")
    return content


def _name_failure(error: Exception) -> str:
    """Return the system's words, or the failure's kind: other texts repeat what was sent, which may hold the secret."""
    reason = error.reason if isinstance(error, URLError) else error
    return getattr(reason, "strerror", None) or type(reason).__name__


def _read_in_time(response: HTTPResponse, endpoint: str) -> bytes:
    """Read a whole answer; one that trickles in is given up when its time is over."""
    latest = time.monotonic() + LONGEST_ANSWER_SECONDS
    content = bytearray()
    while len(content) <= MAX_ANSWER_BYTES and (part := response.read1(65536)):
        content += part
        if time.monotonic() > latest:
            raise _unreachable(endpoint, f"did not answer within {LONGEST_ANSWER_SECONDS:.0f} s")
    if response.length and len(content) <= MAX_ANSWER_BYTES:
        raise _unreachable(endpoint, f"ended its answer {response.length} bytes early")
    return bytes(content)


def _make_opener() -> OpenerDirector:
    """Return an opener without redirects, which would carry the Authorization header to another host."""
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler(), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    return opener


def _unreachable(endpoint: str, what: str) -> InfrastructureError:
    return InfrastructureError(Problem("INFRA_001", f"the service {endpoint} {what}", "try again when it is up"))


def _refuse(endpoint: str, what: str) -> ResolveError:
    hint = 'expected {"locations": [{"datasource_id", "path"} or {"datasource_id", "table"} or {"uri", "type"}]}'
    return ResolveError(Problem("RESOLVE_003", f"the service {endpoint} {what}", hint))


def _read_answer(endpoint: str, content: bytes) -> tuple[Location, ...]:
    try:
        answer = json.loads(content.decode("utf-8"), object_pairs_hook=_read_object)
    except _RepeatedKeyError as error:
        raise _refuse(
            endpoint, f"answered with JSON in which '{show_text(error.key)}' occurs twice in an object"
        ) from None
    except (ValueError, RecursionError):
        raise _refuse(endpoint, "did not answer with JSON") from None
    entries = answer.get("locations") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _refuse(endpoint, "answered without a list of locations")
    if not entries:
        raise _refuse(endpoint, "knows no location")
    if len(entries) > MAX_LOCATIONS:
        raise _refuse(endpoint, f"answered with {len(entries)} locations, at most {MAX_LOCATIONS} are taken")
    return tuple(_read_location(endpoint, position, entry) for position, entry in enumerate(entries))


class _RepeatedKeyError(Exception):
    """A JSON object that has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return found


def _read_location(endpoint: str, position: int, entry: dict[str, object]) -> Location:
    where = f"answered with a wrong location (number {position + 1})"
    if unknown := sorted(set(entry) - _KEYS):
        raise _refuse(endpoint, f"{where}: unknown key '{show_text(unknown[0])}'")
    options = entry.get("options", {})
    if not isinstance(options, dict):
        raise _refuse(endpoint, f"{where}: options is not an object")
    texts = {key: value for key, value in entry.items() if key != "options" and value is not None}
    for key, value in {**texts, **options}.items():
        if not isinstance(value, str):
            raise _refuse(endpoint, f"{where}: {show_text(key)} is not a text")
    return Location(**texts, options=options)  # type: ignore[arg-type]

"""The board's app, loaded with the first request: the scheduler loads plugins too, and never asks for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf

PREFIX = "/runtime-board"
PAGE = "periods"
"""Where the page is in Airflow: `plugin/periods`."""
_Message = MutableMapping[str, Any]


class BoardApp:
    """An ASGI app that makes the real one when it is first called."""

    def __init__(self) -> None:
        self._app: Callable[..., Awaitable[None]] | None = None

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        if self._app is None:
            self._app = import_module("airflow_provider_runtime.board.app").make_app()
        await self._app(scope, receive, send)


def list_fastapi_apps() -> list[dict[str, Any]]:
    """Return what Airflow mounts."""
    return [{"app": BoardApp(), "url_prefix": PREFIX, "name": "airflow-runtime board"}]


def list_react_apps() -> list[dict[str, Any]]:
    """Return the page in the navigation, and its tabs on DAGs and DAG runs: one name, so that it is loaded once."""
    shared = {"name": "Periods", "bundle_url": f"{_get_base_path()}{PREFIX}/static/board.js"}
    return [
        {**shared, "destination": "nav", "category": "browse", "url_route": PAGE},
        {**shared, "destination": "dag", "url_route": f"{PAGE}-of-dag"},
        {**shared, "destination": "dag_run", "url_route": f"{PAGE}-of-run"},
    ]


def _get_base_path() -> str:
    return urlsplit(conf.get("api", "base_url", fallback="/")).path.rstrip("/")

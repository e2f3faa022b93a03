"""A limit on what is read of a request: FastAPI reads the body before anybody is asked who sent it."""

from __future__ import annotations

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 * 1024
_DETAIL = f"a request has at most {MOST_BYTES} bytes"


class BodyLimit:
    """Refuses requests that are longer than any that the page sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what is read of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            await JSONResponse({"detail": _DETAIL}, 413)(scope, receive, send)
            return
        read = 0

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BYTES:
                raise HTTPException(413, _DETAIL)
            return message

        await self._app(scope, receive_counted, send)

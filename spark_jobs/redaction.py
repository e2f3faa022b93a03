"""Keeps the secrets that this process has read out of every text that leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "***"
_SHORTEST_SECRET = 4
_SHORTEST_LINE = 8
_known: set[str] = set()


def hide(secret: str) -> None:
    """Keep a secret, however it is spelled, out of everything that `redact` is applied to."""
    # Libraries cut blanks off, and show one line of a key.
    lines = (line.strip() for line in secret.splitlines())
    for part in (secret, secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        if len(part) >= _SHORTEST_SECRET:
            _known.update(_spell(part))


def _spell(secret: str) -> Iterator[str]:
    yield from (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    # A secret that is not valid text, with half a surrogate pair, is hidden too.
    in_bytes = secret.encode("utf-8", "surrogatepass")
    yield from (quote(in_bytes), quote(in_bytes, safe=""), quote_plus(in_bytes))


def redact(text: str) -> str:
    """Return a text without the secrets that this process has read."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text

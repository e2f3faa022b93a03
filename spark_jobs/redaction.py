"""Keeps the secrets that this process has read out of every text that leaves it."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

HIDDEN = "***"
_SHORTEST_SECRET = 4
_known: set[str] = set()


def hide(secret: str) -> None:
    """Keep a secret, however it is spelled, out of everything that `redact` is applied to."""
    if len(secret) >= _SHORTEST_SECRET:
        in_json = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
        in_urls = (quote(secret), quote(secret, safe=""), quote_plus(secret))
        _known.update({secret, repr(secret)[1:-1], *in_json, *in_urls})


def redact(text: str) -> str:
    """Return a text without the secrets that this process has read."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text

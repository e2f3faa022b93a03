"""What an address of a registry looks like; read without SQLAlchemy, and never repeated: it may hold secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote

ADDRESS_HINT = "use sqlite:///path/to/registry.db or postgresql://user@host/database"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*://")


def find_address_fault(url: str) -> str | None:
    """Return why a text cannot be the address of a registry, or None."""
    found = _SCHEME.match(url)
    if found is None:
        return "the registry's URL is not an SQLAlchemy URL"
    if "\0" in unquote(url):
        return "the registry's URL holds a null character"
    if not found[0].startswith("sqlite"):
        # What comes before the last one would be taken for a host, and shown.
        return (
            "the registry's URL has more than one '@': write those of a password as %40" if url.count("@") > 1 else None
        )
    path, option, _ = url[found.end() :].partition("?")
    if not path.startswith("/") and path:
        return "the registry's URL names a host, which SQLite does not have: its path begins after three slashes"
    if path in {"", "/", "/:memory:"}:
        return "the registry's URL names no file: a registry in memory is gone when the process ends"
    return "the URL of a registry in SQLite takes no options" if option else None

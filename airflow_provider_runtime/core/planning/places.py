"""Whether two outputs write to one place, whatever the way in which it is written down."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from airflow_provider_runtime.core.model.plan import PlanDestination
from airflow_provider_runtime.core.options import get_option

_LEADING = re.compile(r"^([a-z][a-z0-9+.-]*):/*")


def describe_overlap(destination: PlanDestination, earlier: PlanDestination) -> str | None:
    """Return how a destination meets one that another output has, as the end of "it …"; None when they are apart."""
    if destination.kind != earlier.kind:
        return None
    if destination.kind == "jdbc":
        same = _read_table(destination) == _read_table(earlier)
        return f"is the table {earlier.display}" if same else None
    place, other = _read_folder(destination.uri), _read_folder(earlier.uri)
    if place == other:
        return f"is the folder {earlier.display}"
    if place.startswith(f"{other}/"):
        return f"lies inside the folder {earlier.display}"
    return f"holds the folder {earlier.display}" if other.startswith(f"{place}/") else None


def _read_folder(uri: str) -> str:
    """Return a folder's address as it is compared: case is left out, as not every store tells it apart."""
    lower = unquote(uri).casefold()
    scheme = _LEADING.match(lower)
    path = lower[scheme.end() :] if scheme else lower.lstrip("/")
    name = scheme[1] if scheme else "file"
    return f"{name}:{posixpath.normpath(f'/{path}')}"


def _read_table(destination: PlanDestination) -> tuple[str, str]:
    url = (get_option(destination.options, "url") or "").casefold().split("?")[0].rstrip("/")
    return url, (destination.table or "").casefold().replace('"', "")

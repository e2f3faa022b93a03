"""Whether outputs overlap each other, or what a run reads, however their addresses are written."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from urllib.parse import unquote

from spark_jobs.contract.addresses import is_pattern
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import get_option
from spark_jobs.contract.tables import Location

_LEADING = re.compile(r"^([a-z][a-z0-9+.-]*):/*")
_PATTERN = re.compile(r"\\(.)|(\[[^]]*\])|(.)")
_MEANINGS = {"*": ".*", "?": ".", "{": "(?:", ",": "|", "}": ")"}


@dataclass(slots=True)
class _Branch:
    first: int
    """Position of the first output that goes here or below."""
    here: int | None = None
    below: dict[str, _Branch] = field(default_factory=dict)


class WrittenDestinations:
    """Destinations of outputs, as a tree of folders, or of databases, tables and schemas."""

    def __init__(self) -> None:
        self._root = _Branch(0)
        self._outputs: list[tuple[int, Destination]] = []

    def find_overlapping(self, destination: Destination) -> tuple[int, Destination] | None:
        """Return seq and place of the first output whose place a destination is, holds or is inside."""
        branch, met = self._root, []
        for part in _list_parts(destination):
            found = branch.below.get(part)
            if found is None:
                break
            branch = found
            if branch.here is not None:
                met.append(branch.here)
        else:
            met.append(branch.first)
        return self._outputs[min(met)] if met else None

    def add(self, seq: int, destination: Destination) -> None:
        """Remember where an output goes."""
        position, branch = len(self._outputs), self._root
        self._outputs.append((seq, destination))
        for part in _list_parts(destination):
            branch = branch.below.setdefault(part, _Branch(position))
        if branch.here is None:
            branch.here = position


def _list_parts(destination: Destination) -> list[str]:
    """Return the way to a place; a table without a schema comes above those that may be the same one."""
    if destination.format == "iceberg":
        return ["iceberg", destination.options.get("name", ""), destination.table or ""]
    if destination.kind != "jdbc":
        return ["files", *_read_folder(destination.uri).split("/")]
    url, schema, name = _read_table(destination)
    return [destination.kind, url, name, *([schema] if schema else [])]


def describe_overlap(destination: Destination, earlier: Destination) -> str | None:
    """Return how a destination meets one that another output has, as the end of "it …"; None when they are apart."""
    if (destination.format == "iceberg") != (earlier.format == "iceberg"):
        return None
    if destination.format == "iceberg":
        return f"is the table {earlier.display}" if _list_parts(destination) == _list_parts(earlier) else None
    if (destination.kind == "jdbc") != (earlier.kind == "jdbc"):
        return None
    if destination.kind == "jdbc":
        return _describe_table(destination, earlier)
    place, other = _read_folder(destination.uri), _read_folder(earlier.uri)
    if place == other:
        return f"is the folder {earlier.display}"
    if place.startswith(f"{other}/"):
        return f"is inside the folder {earlier.display}"
    return f"holds the folder {earlier.display}" if other.startswith(f"{place}/") else None


def contains_folder(folder: str, inner: str) -> bool:
    """Return whether a folder is another one, or one above it."""
    return f"{_read_folder(inner)}/".startswith(f"{_read_folder(folder).rstrip('/')}/")


def split_source(source: str) -> list[str]:
    """Return the names on the way to a place that is read, which may be a pattern of Hadoop's."""
    # What follows a brace that spans a slash may be anything.
    return list(takewhile(_closes_braces, filter(None, _read_folder(source).split("/"))))


def find_overlapped(folder: str, sources: Mapping[str, list[str]]) -> str | None:
    """Return the first of the places that are read, each with its names, that a folder is, holds or is inside."""
    written = [name for name in _read_folder(folder).split("/") if name]
    return next((source for source, names in sources.items() if _overlaps(written, names)), None)


def may_be_table(destination: Destination, source: Location) -> bool:
    """Return whether a table that is written may be one that is read."""
    return destination.kind == source.kind == "jdbc" and _match_tables(destination, source) is not None


def _overlaps(written: list[str], read: list[str]) -> bool:
    return all(
        re.fullmatch(_build_pattern(part), name) if is_pattern(part) else part == name
        for name, part in zip(written, read, strict=False)
    )


def _closes_braces(part: str) -> bool:
    plain = re.sub(r"\\.", "", part)
    return plain.count("{") == plain.count("}")


def _build_pattern(part: str) -> str:
    """Return one name of a pattern of Hadoop's as a regular expression; a set of characters stands for any."""
    pieces, depth = [], 0
    for escaped, characters, plain in _PATTERN.findall(part):
        if characters:
            pieces.append(".")
        elif plain in ("*", "?", "{") or (depth and plain in (",", "}")):
            pieces.append(_MEANINGS[plain])
            depth += {"{": 1, "}": -1}.get(plain, 0)
        else:
            pieces.append(re.escape(escaped or plain))
    return "".join(pieces) + ")" * depth


def _read_folder(uri: str) -> str:
    """Return a folder's address as it is compared: case is ignored, as it is by some stores."""
    lower = unquote(uri).casefold()
    scheme = _LEADING.match(lower)
    path = lower[scheme.end() :] if scheme else lower.lstrip("/")
    name = scheme[1] if scheme else "file"
    return f"{name}:{posixpath.normpath(f'/{path}')}"


def _describe_table(destination: Destination, earlier: Destination) -> str | None:
    is_certain = _match_tables(destination, earlier)
    if is_certain is None:
        return None
    return f"is the table {earlier.display}" if is_certain else f"may be the table {earlier.display}"


def _match_tables(one: Destination | Location, two: Destination | Location) -> bool | None:
    """Return whether two tables are one for certain; None when they are apart."""
    (url, schema, name), (other_url, other_schema, other) = _read_table(one), _read_table(two)
    if (url, name) != (other_url, other) or (schema and other_schema and schema != other_schema):
        return None
    # Only the database knows which schema a name without one belongs to.
    return schema == other_schema


def _read_table(place: Destination | Location) -> tuple[str, str, str]:
    """Return a table's database, schema and name as they are compared."""
    url = (get_option(place.options, "url") or "").casefold().split("?")[0].rstrip("/")
    head, dot, tail = (place.table or "").casefold().replace('"', "").partition(".")
    return (url, head, tail) if dot else (url, "", head)

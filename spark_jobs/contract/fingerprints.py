"""Which files were read: a digest that planning and job compute in the same way."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_jobs.contract.tables import Location


@dataclass(frozen=True, slots=True, order=True)
class FileState:
    """A file with what changes when it is replaced."""

    path: str
    bytes: int
    modified_millis: int


def list_committed(location: Location) -> list[FileState]:
    """Return the files of a table's version: they never change, so that names identify them, and how they are read."""
    read_as = json.dumps([dict(location.names), dict(location.constants)], sort_keys=True)
    mark = f"#{read_as}" if location.names or location.constants else ""
    return [FileState(f"{location.uri.rstrip('/')}/{name}{mark}", 0, 0) for name in location.files]


def take_fingerprint(files: Iterable[FileState]) -> str:
    """Return one digest of all files, in whatever order they come and however their addresses are spelled."""
    lines = sorted(f"{_normalise(file.path)}\n{file.bytes}\n{file.modified_millis}" for file in files)
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _normalise(path: str) -> str:
    return re.sub(r"^file:/+", "/", path)

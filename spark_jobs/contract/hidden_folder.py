"""The hidden folder beside a table of files: where attempts stage, and where locks and writers are noted.

<parent>/.<table>.runtime/locks/<calendar>/<period>      a period that was locked: who, when and why
<parent>/.<table>.runtime/writers/<project>~<period>     a project that has written a period; '' for the whole table
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LockMark:
    """What a lock leaves at a destination, so that the runs of other registries find it."""

    who: str
    reason: str
    at: str

    def encode(self) -> bytes:
        """Return the mark's file."""
        return json.dumps(asdict(self), ensure_ascii=True).encode()

    @classmethod
    def decode(cls, content: bytes) -> LockMark:
        """Return the mark in a file; the file itself is the lock, whatever it holds."""
        try:
            found = json.loads(content)
            return cls(str(found["who"]), str(found["reason"]), str(found["at"]))
        except (ValueError, KeyError, TypeError):
            return cls("somebody", "no reason is readable", "")


def get_hidden_folder(table_uri: str) -> str:
    """Return the hidden folder of a table's folder."""
    scheme, mark, rest = table_uri.rstrip("/").partition("://")
    if not mark:
        scheme, rest = "", scheme
    folder, slash, name = rest.rpartition("/")
    if not slash or (mark and not name):
        # A bucket has nothing above it.
        return f"{table_uri.rstrip('/')}/.runtime"
    return f"{scheme}{mark}{folder}/.{name}.runtime"


def get_lock_uri(table_uri: str, calendar: str, period: str) -> str:
    """Return where the lock of a period is noted."""
    return f"{get_hidden_folder(table_uri)}/locks/{calendar}/{period}"


def name_writer(project_id: str, period: str) -> str:
    """Return the name of the note that a project has written a period; '' is the whole table."""
    return f"{project_id}~{period}"

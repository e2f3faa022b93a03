"""A problem: what is wrong, the place in the definitions, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from spark_jobs.contract.codes import Code

Severity = Literal["error", "warning"]


def shorten(text: str, limit: int = 200) -> str:
    """Return a text on one line and of bounded length, control characters replaced."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in the definitions: in a file, and the logical path to it."""

    file: str | None = None
    line: int = 1
    column: int = 1
    end_column: int | None = None
    project: str | None = None
    operation_seq: int | None = None
    field: str | None = None
    source_line: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, with the place and, where there is one, the remedy."""

    code: Code
    message: str
    hint: str | None = None
    location: Place = field(default_factory=Place)
    severity: Severity = "error"

    def at(self, **changes: Any) -> Problem:
        """Return the same problem with parts of its place replaced."""
        return replace(self, location=replace(self.location, **changes))

    def at_place(self, place: Place) -> Problem:
        """Return the same problem at another place in a file."""
        return self.at(file=place.file, line=place.line, column=place.column, source_line=place.source_line)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

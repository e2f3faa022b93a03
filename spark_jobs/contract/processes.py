"""Identities of processes, which distinguish one from a later process with the same number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process, as Linux describes it."""

    state: str
    """One letter: `T` is suspended, `Z` a zombie, `X` dead."""
    start: str
    """When it started, in clock ticks since the machine was booted."""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, though its parent has not collected its exit status."""
        return self.state in "ZXx"


def find_process(number: int) -> Process | None:
    """Return a process; None where there is none, or where that cannot be seen."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name is in brackets, and may hold some itself.
    fields = status.rpartition(")")[2].split()
    return Process(fields[0], fields[19])

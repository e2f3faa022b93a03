"""Identities of processes, which distinguish one from a later process with the same number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process, as Linux describes it."""

    state: str
    """One letter: `T` is stopped, `Z` and `X` have ended and are not cleared away."""
    start: str
    """When it began, in ticks since the machine did."""

    @property
    def has_ended(self) -> bool:
        """Whether it only waits to be cleared away."""
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

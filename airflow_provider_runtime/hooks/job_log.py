"""What a task's log shows of a Spark job while it runs, and what is kept for later."""

from __future__ import annotations

import re
from collections import deque

from spark_jobs.contract.progress import is_progress

MOST_LINES = 5000
_WARNING = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d WARN (\w+)")
_KNOWN = frozenset({"FileStreamSink", "NativeCodeLoader", "TaskSetManager", "Utils"})
"""What warns at every start, or repeats a failure that the job reports itself."""


class JobLog:
    """Sorts the lines of a Spark process: its progress and warnings go on, stack traces and the rest are kept back.

    A warning may be all that is seen of a job that waits, for a cluster without room for example.
    """

    def __init__(self, *, keeps_back: bool = True) -> None:
        self._keeps_back = keeps_back
        self._kept: deque[str] = deque(maxlen=MOST_LINES)
        self._dropped = 0

    def shows(self, line: str) -> bool:
        """Return whether a line is shown at once; one that is not is kept."""
        if not self._keeps_back or is_progress(line):
            return True
        warning = _WARNING.match(line)
        if warning is not None and warning[1] not in _KNOWN:
            return True
        self._dropped += len(self._kept) == MOST_LINES
        self._kept.append(line.rstrip())
        return False

    def take(self) -> list[str]:
        """Return the lines that were kept back, and forget them."""
        lines = [f"({self._dropped} lines before these are left out)"] if self._dropped else []
        lines += self._kept
        self._kept.clear()
        self._dropped = 0
        return lines

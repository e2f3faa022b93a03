"""The process that has submitted the job and keeps its lease, where it runs on the driver's machine.

While it lives it stops a job whose attempt was revoked, as by the lock of a period. When it is gone nobody does.
"""

from __future__ import annotations

import os
from pathlib import Path

from spark_jobs.errors import JobError

SUBMITTER_VARIABLE = "RUNTIME_SUBMITTER"
_NOT_RUNNING = frozenset("TZXx")
"""Stopped, or dead and not cleared away."""


def describe_process(number: int) -> str | None:
    """Return what tells a running process from a later one of the same number; None where that cannot be seen."""
    found = _look_at(number)
    return None if found is None or found[0] in _NOT_RUNNING else f"{number}:{found[1]}"


def require_submitter() -> None:
    """Refuse to go on when the process that the environment names does not run any more."""
    described = os.environ.get(SUBMITTER_VARIABLE)
    if described is None or _look_at(1) is None:
        # Some systems hide the processes of others.
        return
    number = described.partition(":")[0]
    if describe_process(int(number)) != described:
        message = f"the process {number} that submitted this job has gone or stands still, so nothing is published"
        raise JobError("INFRA_001", message, hint="run it again")


def _look_at(number: int) -> tuple[str, str] | None:
    """Return a process's state and when it began, as Linux tells them."""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name stands in brackets, and may hold some itself.
    fields = told.rpartition(")")[2].split()
    return fields[0], fields[19]

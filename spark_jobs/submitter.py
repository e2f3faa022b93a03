"""The process that has submitted the job and keeps its lease, where it runs on the driver's machine.

While it lives it stops a job whose attempt was revoked, as by the lock of a period. Once it has ended nothing does.
"""

from __future__ import annotations

import os

from spark_jobs.contract.processes import find_process
from spark_jobs.errors import JobError

SUBMITTER_VARIABLE = "RUNTIME_SUBMITTER"


def describe_process(number: int) -> str | None:
    """Return what distinguishes a running process from a later one with its number; None where that cannot be seen."""
    found = find_process(number)
    return None if found is None or found.has_ended or found.state == "T" else f"{number}:{found.start}"


def require_submitter() -> None:
    """Refuse to go on when the process that the environment names does not run any more."""
    described = os.environ.get(SUBMITTER_VARIABLE)
    if described is None or find_process(1) is None:
        # Some systems hide the processes of others.
        return
    number = described.partition(":")[0]
    if describe_process(int(number)) != described:
        message = f"the process {number} that submitted this job has ended or is suspended, so nothing is published"
        raise JobError("INFRA_001", message, hint="run it again")

"""Who calls a command: a user of the operating system, or the name that this user may claim."""

from __future__ import annotations

import os
import pwd
import socket

from airflow_provider_runtime.core.errors import ApprovalError, Problem
from airflow_provider_runtime.core.runs.approval import Person

ALLOW_AS = "AIRFLOW_RUNTIME_ALLOW_AS"


def find_user() -> str:
    """Return the user of the operating system, whatever the environment says: anybody can set LOGNAME."""
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def find_person(claimed_name: str | None = None) -> Person:
    """Return who calls; a claimed name needs the permission of the environment."""
    if claimed_name is not None and os.environ.get(ALLOW_AS) != "1":
        message = f"the name '{claimed_name}' cannot be claimed with --as"
        raise ApprovalError(Problem("APPROVAL_001", message, f"set {ALLOW_AS}=1 for service accounts and tests"))
    return Person(claimed_name or find_user(), claimed_name, find_user(), socket.gethostname())

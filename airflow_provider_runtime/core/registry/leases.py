"""Leases: who may run a project for a period, until when, with which fencing token."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from airflow_provider_runtime.core.registry.store import LeaseRow
from spark_jobs.contract.processes import find_process

DETACHED = "detached"


def next_token(previous: int, now_millis: int) -> int:
    """Return a token above every earlier one, even if the clock was set back or the registry recreated."""
    return max(previous + 1, now_millis)


def describe_holder(*, durable: bool = False) -> str:
    """Return an identity of this process that others on the machine can look up.

    A durable holder's job goes on without it, so that its death must not free the lease before it expires.
    """
    if durable:
        return f"{DETACHED}/{socket.gethostname()}/{os.getpid()}"
    return f"{_describe_machine()}/{os.getpid()}/{_find_start(os.getpid()) or '?'}"


def is_holder_gone(holder: str) -> bool:
    """Return whether the holder was a process of this machine that is certainly no longer there."""
    machine, _, process = holder.partition("/")
    pid, _, start = process.partition("/")
    if machine != _describe_machine() or not pid.isdigit() or start in {"", "?"}:
        return False
    return _find_start(int(pid)) != start


def is_alive(lease: LeaseRow, now_millis: int) -> bool:
    """Return whether the lease keeps others out."""
    return lease.state == "held" and lease.expires_millis > now_millis and not is_holder_gone(lease.holder)


def _describe_machine() -> str:
    # Host, boot and process namespace together: only then do process ids mean the same process.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return f"{socket.gethostname()}-unknown"
    return f"{socket.gethostname()}-{boot}-{namespace}"


def _find_start(pid: int) -> str | None:
    found = find_process(pid)
    return None if found is None or found.has_ended else found.start

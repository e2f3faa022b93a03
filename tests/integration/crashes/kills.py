"""Kills a run at a time that a seed decides."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.integration.spark_cluster import SparkCluster, list_children

VICTIMS = ("driver", "submitter", "executor")
# What the run has said last, and for how many seconds at most the killer then waits.
MOMENTS = (("", 9.0), ("run ", 2.5), ("operation 20 ", 1.5), ("operation 40 ", 1.2), ("operation 40 ", 0.4))


@dataclass(frozen=True)
class Kill:
    """Who dies, and when."""

    victim: str
    said: str
    wait_seconds: float

    def __str__(self) -> str:
        return f"{self.victim} {self.wait_seconds:.2f} s after '{self.said}'"


def choose_kill(chance: random.Random, cluster: SparkCluster | None) -> Kill:
    """Draw a victim and a time; executors are processes of their own on a cluster alone."""
    said, longest = chance.choice(MOMENTS)
    return Kill(chance.choice(VICTIMS if cluster else VICTIMS[:2]), said, chance.random() * longest)


def watch(process: subprocess.Popen[str], kill: Kill | None, cluster: SparkCluster | None) -> tuple[int, str, bool]:
    """Wait for a run's end, and kill its victim in time: status, what it said, whether it was hit."""
    lines: list[str] = []
    come = threading.Event()
    hit = threading.Event()
    over = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if kill is not None and kill.said and line.startswith(kill.said):
                come.set()
        over.set()
        come.set()

    def strike() -> None:
        assert kill is not None
        if kill.said:
            come.wait(120)
        if not over.wait(kill.wait_seconds) and strike_victim(process, kill.victim, cluster):
            hit.set()

    threads = [threading.Thread(target=listen), *([threading.Thread(target=strike)] if kill else [])]
    for thread in threads:
        thread.start()
    status = process.wait(180)
    for thread in threads:
        thread.join(60)
    assert process.stderr is not None
    process.stderr.close()
    return status, "".join(lines), hit.is_set()


def strike_victim(process: subprocess.Popen[str], victim: str, cluster: SparkCluster | None) -> bool:
    """Send SIGKILL; False when the victim is not there."""
    if victim == "submitter":
        found = [process.pid]
    elif victim == "driver":
        found = [child for child in list_children(process.pid) if is_java(child)]
    else:
        found = cluster.list_executors()[:1] if cluster else []
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def is_java(pid: int) -> bool:
    """Return whether a process is a JVM."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    return False


def end_group(process: subprocess.Popen[str]) -> None:
    """End everything that a run has left: its JVM may outlive the process that was killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)

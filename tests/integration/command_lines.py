"""The command lines of all processes of this machine, which everybody may read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def watch_commands() -> Iterator[set[str]]:
    """Collect the command lines of all processes of this machine but the tests' own, whose titles name their cases."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    if not line.startswith("[pytest"):
                        seen.add(line)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()

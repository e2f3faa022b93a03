"""Keep alive: lengthen an attempt's lease while its job runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.registry.ports import LEASE_SECONDS

# Often, so that a period that is locked meanwhile stops its jobs soon.
INTERVAL_SECONDS = LEASE_SECONDS / 18


@contextmanager
def keep_alive(
    heartbeat: Callable[[], None],
    on_lost: Callable[[RuntimeProviderError], None],
    *,
    interval_seconds: float = INTERVAL_SECONDS,
) -> Iterator[None]:
    """Call `heartbeat` from a thread; `on_lost` is called once when the attempt may no longer publish."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(interval_seconds):
            try:
                heartbeat()
            except RuntimeProviderError as error:
                # A registry that is away for a while is not a reason to give up: fence and finish decide.
                if not error.retryable and not over.is_set():
                    on_lost(error)
                    return

    thread = threading.Thread(target=beat, name="runtime-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)

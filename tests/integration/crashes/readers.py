"""Readers that look at the books all the time while runs publish."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.integration.crashes.books import Books, sum_january

PAUSE_SECONDS = 0.2


@dataclass
class Watch:
    """What one reader saw."""

    read: Callable[[], list[dict[str, Any]]]
    errors_allowed: tuple[type[Exception], ...] = ()
    seen: Counter[Decimal] = field(default_factory=Counter)
    moved: int = 0
    wrong: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Read once and note the control total."""
        try:
            self.seen[sum_january(self.read())] += 1
        except self.errors_allowed:
            self.moved += 1
        except Exception as failure:
            self.wrong.append(f"{type(failure).__name__}: {failure}")


@contextmanager
def watch_books(books: Books) -> Iterator[dict[str, Watch]]:
    """Read the lake by listing its folders, the warehouse by SQL, and the registered dataset by its latest version."""
    watches = {
        "lake": Watch(books.read_lake, errors_allowed=(OSError,)),
        "warehouse": Watch(books.read_warehouse),
        "registered": Watch(books.read_registered),
    }
    over = threading.Event()

    def poll(watch: Watch) -> None:
        while not over.wait(PAUSE_SECONDS):
            watch.look()

    threads = [threading.Thread(target=poll, args=(watch,)) for watch in watches.values()]
    for thread in threads:
        thread.start()
    try:
        yield watches
    finally:
        over.set()
        for thread in threads:
            thread.join(30)

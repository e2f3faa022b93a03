"""How much work something is, as a number that is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def count_steps(work: Callable[[], object]) -> int:
    """Return how many calls a piece of work takes."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return steps

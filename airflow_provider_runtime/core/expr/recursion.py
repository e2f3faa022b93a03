"""A higher recursion limit for functions that walk over deep trees, put back afterwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

FRAMES = 6_000
"""What the deepest expression (200 levels, and 200 more of a named selector) needs, and as much again."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _RecursionLimit:
    """The recursion limit is one for the whole process: the first walk raises it, the last one puts it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.walks = 0
        self.before = 0

    def enter(self) -> None:
        with self.lock:
            if self.walks == 0:
                self.before = sys.getrecursionlimit()
                if self.before < FRAMES:
                    sys.setrecursionlimit(FRAMES)
            self.walks += 1

    def leave(self) -> None:
        with self.lock:
            self.walks -= 1
            if self.walks == 0 and self.before < FRAMES:
                sys.setrecursionlimit(self.before)


_LIMIT = _RecursionLimit()


def recurses_deeply(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Give a function that walks over trees the frames it may need, while it runs."""

    @wraps(function)
    def walk(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        _LIMIT.enter()
        try:
            return function(*args, **kwargs)
        finally:
            _LIMIT.leave()

    return walk

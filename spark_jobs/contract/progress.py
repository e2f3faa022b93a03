"""The lines that a job prints while it runs, and how its submitter distinguishes them from Spark's."""

from __future__ import annotations

import re
import time

_LINE = re.compile(r"\d\d:\d\d:\d\d \S")


def write_progress(text: str) -> str:
    """Return a line of progress: the time of day and what happened."""
    return f"{time.strftime('%H:%M:%S')} {text}"


def is_progress(line: str) -> bool:
    """Return whether a job has printed the line, and not Spark, whose lines begin with a date or with words."""
    return _LINE.match(line) is not None

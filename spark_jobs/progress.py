"""The progress of a run: one line for each step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from spark_jobs.contract.progress import write_progress
from spark_jobs.contract.report import OperationReport
from spark_jobs.errors import shorten

Progress = Callable[[str], None]
LONGEST_LINE = 2000


def make_progress(progress: Progress | None) -> Progress:
    """Return a function that takes lines of progress: the given one, else one that prints them."""
    show = progress or print_line

    def say(text: str) -> None:
        # What comes from data or names cannot make two lines of one.
        show(shorten(text, LONGEST_LINE))

    return say


def make_observer(operations: list[OperationReport], say: Progress) -> Callable[[OperationReport], None]:
    """Return a function that keeps the report of each operation and says a line about it."""

    def observe(done: OperationReport) -> None:
        operations.append(done)
        counted = "" if done.rows_affected is None else f", {done.rows_affected} rows"
        took = "computed when it is read" if done.computed_with is None else f"{done.seconds:.1f} s"
        say(f"operation {done.seq} {done.type} {done.name!r}{counted}, {took}")

    return observe


def list_matches(operations: Sequence[OperationReport]) -> Iterator[str]:
    """Yield a line for each join whose matches were counted."""
    for operation in operations:
        for join in operation.joins:
            if join.matched is not None and join.unmatched is not None:
                found = f"{join.matched} rows with a match, {join.unmatched} without"
                yield f"operation {operation.seq} join {join.alias!r}: {found}"


def print_line(text: str) -> None:
    """Print a line with its time to standard error."""
    sys.stderr.write(write_progress(shorten(text, LONGEST_LINE)) + "\n")
    sys.stderr.flush()

"""Compares what a run reads and writes with an earlier execution of the same snapshot."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.contract.report import (
    OutputReport,
    Report,
    SourceReport,
    list_row_differences,
    list_source_differences,
)
from spark_jobs.errors import JobError, MarkedProblem


class Verification:
    """How a run differs from an earlier execution of its snapshot."""

    def __init__(self, earlier: Report | None, say: Callable[[str], None], *, verify: bool) -> None:
        self._earlier = earlier
        self._say = say
        self._verify = verify
        self.sources: tuple[SourceReport, ...] = ()
        self.differences: list[str] = []

    def compare_sources(self, sources: tuple[SourceReport, ...]) -> None:
        """Remember what is read, and report where it differs from what was read before."""
        self.sources = sources
        if self._earlier is None and self._verify:
            message = "there is no earlier execution of this snapshot that this one could be verified with"
            raise JobError("DATA_004", message, hint="run it without --verify, or with the registry that knows it")
        if self._earlier is not None:
            self._note(list_source_differences(self._earlier.sources, sources))

    def compare_rows(self, outputs: tuple[OutputReport, ...]) -> None:
        """Report where the rows differ from those that were published before."""
        if self._earlier is not None:
            self._note(list_row_differences(self._earlier.outputs, outputs))

    def _note(self, differences: tuple[str, ...]) -> None:
        self.differences += differences
        for difference in differences:
            self._say(f"differs: {difference}")
        if differences and self._verify:
            hint = "resolve again if the new data are meant, or run without --verify"
            raise JobError.of([MarkedProblem("DATA_004", difference, hint) for difference in differences])

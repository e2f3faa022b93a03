"""What the executor asks of the sinks that take its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import OutputOperation


StagedPart = Literal["early", "rest"]


@dataclass(frozen=True, slots=True)
class StagedOutput:
    """Rows that were written aside for an output."""

    seq: int
    rows: int
    """How many this call wrote."""
    uri: str | None = None
    """Folder with the Parquet files of this output so far, for Spark to read back; None when there is none."""


class Sinks(Protocol):
    """Where outputs go: staged one by one, published together."""

    def begin(self) -> None:
        """Claim the destinations for this attempt; a newer attempt makes this RUN_002."""

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        """Write rows aside; several calls for one output add up. The frame has exactly the output's columns."""

    def can_read_back(self, output: OutputOperation) -> bool:
        """Return whether `stage` will give a folder to read back from."""

    def scratch(self, name: str) -> str | None:
        """Return the URI of a folder for Parquet files of the executor's own; None when there is no place."""

    def seal(self) -> None:
        """Finish what was staged, when every operation has succeeded."""

    def read_staged(self, seq: int, part: StagedPart | None = None) -> DataFrame:
        """Return an output's rows as they are staged, with its columns; to be called when it is sealed.

        Files may be read earlier, and in the parts that `split_staged` has made.
        """

    def split_staged(self, seq: int) -> bool:
        """Make what is staged so far a part of its own, which can be read already; False where that cannot be."""

    def count_staged(self, seq: int) -> int:
        """Return how many rows of an output are staged."""

    def count_nulls(self, seq: int, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many rows each column is NULL; None when that takes reading them."""

    def abandon(self) -> None:
        """Remove what was staged; never raises."""

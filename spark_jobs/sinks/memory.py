"""Outputs that stay in memory, for scenarios."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_jobs.sinks.protocol import StagedOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.plan import Column, OutputOperation


@dataclass(slots=True)
class CapturedOutput:
    """The rows that an output would have published."""

    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)


class MemorySinks:
    """Keeps the rows of every output; nothing is written anywhere."""

    def __init__(self) -> None:
        self.tables: dict[int, CapturedOutput] = {}

    def begin(self) -> None:
        """Forget what was captured before."""
        self.tables.clear()

    def stage(self, output: OutputOperation, frame: DataFrame) -> StagedOutput:
        """Collect an output's rows."""
        captured = self.tables.setdefault(output.seq, CapturedOutput(output.columns))
        rows = [tuple(row) for row in frame.collect()]
        captured.rows.extend(rows)
        return StagedOutput(output.seq, len(rows))

    def can_read_back(self, output: OutputOperation) -> bool:
        """Rows in memory are not for Spark to read."""
        del output
        return False

    def scratch(self, name: str) -> str | None:
        """There is no place for files."""
        del name
        return None

    def abandon(self) -> None:
        """Forget what was captured."""
        self.tables.clear()

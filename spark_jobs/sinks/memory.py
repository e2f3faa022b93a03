"""Outputs that stay in memory, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_jobs.contract.tables import write_schema
from spark_jobs.sinks.protocol import StagedOutput, StagedPart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.operations import OutputOperation
    from spark_jobs.contract.tables import Column


@dataclass(slots=True)
class CapturedOutput:
    """The rows that an output would have published."""

    columns: tuple[Column, ...]
    spark: SparkSession | None = None
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
        captured = self.tables.setdefault(output.seq, CapturedOutput(output.columns, frame.sparkSession))
        rows = [tuple(row) for row in frame.collect()]
        captured.rows.extend(rows)
        return StagedOutput(output.seq, len(rows))

    def can_read_back(self, output: OutputOperation) -> bool:
        """Rows in memory are not for Spark to read."""
        del output
        return False

    def scratch(self, name: str) -> str | None:
        """Nothing is written to files."""
        del name
        return None

    def seal(self) -> None:
        """There is nothing to finish."""

    def read_staged(self, seq: int, part: StagedPart | None = None) -> DataFrame:
        """Return an output's rows."""
        assert part is None
        captured = self.tables[seq]
        assert captured.spark is not None
        return captured.spark.createDataFrame(captured.rows, write_schema(captured.columns))

    def split_staged(self, seq: int) -> bool:
        """Rows in memory are read all at once."""
        del seq
        return False

    def count_staged(self, seq: int) -> int:
        """Return how many rows an output has."""
        return len(self.tables[seq].rows)

    def count_nulls(self, seq: int, columns: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many rows each column is NULL."""
        captured = self.tables[seq]
        positions = {column.name: index for index, column in enumerate(captured.columns) if column.name in columns}
        return {name: sum(row[index] is None for row in captured.rows) for name, index in positions.items()}

    def abandon(self) -> None:
        """Forget what was captured."""
        self.tables.clear()

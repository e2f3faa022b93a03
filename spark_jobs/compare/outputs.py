"""Outputs before and after: every staged output beside what readers see of it now."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spark_jobs.compare.rows import compare_rows, describe_equal_rows
from spark_jobs.contract.comparison import Comparison, OutputComparison

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import OutputOperation

SAMPLE_ROWS = 10
MOST_AT_ONCE = 4


class StagedOutputs(Protocol):
    """Outputs that are staged and not published yet."""

    def read_staged(self, seq: int) -> DataFrame:
        """Return an output's rows as they are staged."""

    def read_published(self, seq: int) -> DataFrame | None:
        """Return the rows that an output would replace."""

    def replaces_equal_rows(self, seq: int) -> bool:
        """Tell, without reading rows, that readers see exactly what is staged."""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What to show of the changes."""

    key: tuple[str, ...] | None = None
    """Columns that take the place of the outputs' own keys."""
    samples: int = SAMPLE_ROWS


def compare_outputs(
    outputs: Sequence[OutputOperation], sinks: StagedOutputs, request: CompareRequest | None = None
) -> Comparison | None:
    """Return what would change if what is staged were published; None when not asked for and nothing is replaced."""
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        published = list(pool.map(lambda output: sinks.read_published(output.seq), outputs))
        if request is None and all(frame is None for frame in published):
            return None
        wanted = request or CompareRequest()
        found = pool.map(lambda output, frame: _compare(output, frame, sinks, wanted), outputs, published)
        return Comparison(tuple(found))


def _compare(
    output: OutputOperation, published: DataFrame | None, sinks: StagedOutputs, wanted: CompareRequest
) -> OutputComparison:
    staged, key = sinks.read_staged(output.seq), _choose_key(output, wanted.key)
    if published is not None and sinks.replaces_equal_rows(output.seq):
        return describe_equal_rows(output, staged, key)
    return compare_rows(output, published, staged, key, wanted.samples)


def _choose_key(output: OutputOperation, asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns asked for where the output has them all, else its own key."""
    names = {column.name for column in output.columns}
    return asked if asked is not None and set(asked) <= names else output.key

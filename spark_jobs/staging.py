"""When rows that several operations read are written once and read back.

Reading a scan again is cheap, computing joins and updates again is not, and keeping wide rows in memory costs more than
either. So rows are put at rest where that is free (an output writes them anyway: then it writes them first), where
three or more readers follow, or where the plan above them has grown too deep for Spark's optimizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spark_jobs.columns import quote_name
from spark_jobs.plan_reading import find_host, is_reader, list_needed_by, sees_deleted
from spark_jobs.working import Part, WorkingDataset, union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.sinks.protocol import Sinks, StagedOutput
    from spark_jobs.snapshot import AnyOperation, Column, OutputOperation

READERS_WORTH_A_COPY = 3
DEEPEST_PLAN = 60
ALWAYS_KEPT = ("_deleted", "_updated_at")
COPY_OPTIONS = {
    # A copy is read whole, by this run alone: what makes files small or quick to search costs more than it brings.
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
}


@dataclass(slots=True)
class Staging:
    """Puts the working dataset at rest."""

    spark: SparkSession
    sinks: Sinks
    is_small: bool
    """That the rows are few for certain, so that computing them again costs nothing."""

    def rest(self, working: WorkingDataset, operations: Sequence[AnyOperation]) -> StagedOutput | None:
        """Put the rows at rest when that pays; `operations` are those to come, the first of them about to read.

        Returns what was staged for an output on the way.
        """
        deep = max(part.depth for part in working.parts) >= DEEPEST_PLAN
        if not operations or (self.is_small and not deep):
            return None
        if all(part.depth == 0 for part in working.parts):
            return None
        readers = sum(is_reader(operation) for operation in operations)
        if readers >= 2 and is_reader(operations[0]):
            host = find_host(operations, self.sinks.can_read_back)
            if host is not None:
                return self._stage_for(working, host)
        if deep or (readers >= READERS_WORTH_A_COPY and is_reader(operations[0])):
            self._copy(working, operations)
        return None

    def _stage_for(self, working: WorkingDataset, host: OutputOperation) -> StagedOutput:
        observed = working.observe(host.columns)
        live = union(observed.frames()).where("NOT `_deleted`")
        staged = self.sinks.stage(host, select_columns(live, host.columns))
        observed.record()
        if staged.uri is None:
            return staged
        frame = self._read(staged.uri, host.columns)
        names = {column.name for column in host.columns}
        if "_deleted" not in names:
            frame = frame.selectExpr("*", "FALSE AS `_deleted`")
        working.parts = [Part(frame, frozenset({*names, "_deleted"}), staged_for=host.seq)]
        return staged

    def _copy(self, working: WorkingDataset, operations: Sequence[AnyOperation]) -> None:
        """Write the rows to a scratch folder; where there is none, keep them with the executors."""
        needed = list_needed_by(operations) | set(ALWAYS_KEPT)
        kept = [column for column in working.columns if column.name in needed]
        observed = working.observe(kept)
        rows = union(observed.frames())
        if not sees_deleted(operations):
            rows = rows.where("NOT `_deleted`")
        rows = select_columns(rows, kept)
        uri = self.sinks.scratch("rows")
        if uri is None:
            frame = rows.localCheckpoint()
        else:
            rows.write.mode("append").options(**COPY_OPTIONS).parquet(uri)
            frame = self._read(uri, kept)
        observed.record()
        working.parts = [Part(frame, frozenset(column.name for column in kept))]

    def _read(self, uri: str, columns: Sequence[Column]) -> DataFrame:
        schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in columns)
        return self.spark.read.schema(schema).parquet(uri)


def add_columns(part: Part, columns: Sequence[Column]) -> Part:
    """Return the rows with these columns, NULL unless the rows were staged for an output that has them already."""
    new = [column for column in columns if column.name not in part.columns]
    if not new:
        return part
    values = [f"CAST(NULL AS {column.type}) AS {quote_name(column.name)}" for column in new]
    names = frozenset(column.name for column in new)
    return replace(part, frame=part.frame.selectExpr("*", *values), columns=part.columns | names)


def select_columns(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return these columns; what the rows do not have yet is NULL."""
    present = set(frame.columns)
    return frame.selectExpr(
        *[
            quote_name(column.name)
            if column.name in present
            else f"CAST(NULL AS {column.type}) AS {quote_name(column.name)}"
            for column in columns
        ]
    )

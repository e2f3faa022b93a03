"""When rows that several operations read are written once and read back.

Reading a scan again is cheap, computing joins and updates again is not, and keeping wide rows in memory costs more than
either. So rows are materialised where that is free (an output writes them anyway: then it writes them first), where
three or more readers follow, or where the plan above them has grown too deep for Spark's optimizer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.options import PLAIN_NAMES, VERIFIED
from spark_jobs.contract.report import name_step
from spark_jobs.contract.sql import WORKING, quote_name
from spark_jobs.contract.tables import write_schema
from spark_jobs.rows.plan_reading import find_host, is_reader, list_known, list_needed_by, list_users, sees_deleted
from spark_jobs.rows.system_columns import name_values
from spark_jobs.rows.working import Part, WorkingDataset, find_origins, union
from spark_jobs.spark.jvm import describe_jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.contract.operations import AnyOperation, OutputOperation
    from spark_jobs.contract.tables import Column
    from spark_jobs.sinks.protocol import Sinks, StagedOutput

READERS_WORTH_A_COPY = 3
DEEPEST_PLAN = 60
COPY_OPTIONS = {
    # A copy is read whole, by this run alone: what makes files small or quick to search costs more than it brings.
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
    **PLAIN_NAMES,
}


@dataclass(slots=True)
class Staging:
    """Writes rows of the working dataset once where several operations read them."""

    spark: SparkSession
    sinks: Sinks
    is_small: bool
    """That the rows are few for certain, so that computing them again costs nothing."""

    def materialise(self, working: WorkingDataset, operations: Sequence[AnyOperation]) -> StagedOutput | None:
        """Materialise the rows when that pays; `operations` are those to come, the first of them about to read.

        Returns what was staged for an output on the way.
        """
        moving = [part for part in working.parts if part.depth]
        deep = any(part.depth >= DEEPEST_PLAN for part in moving)
        origins = find_origins(moving)
        users = list_users(operations, origins)
        if not moving or not users or (self.is_small and not deep):
            return None
        readers = sum(is_reader(operation) for operation in users)
        is_read_now = is_reader(operations[0]) and operations[0].may_touch(origins)
        if is_read_now and readers >= 2:
            found = find_host(operations, working.parts, self.sinks.can_read_back)
            if found is not None:
                return self._stage_for(working, *found)
        if deep or (is_read_now and readers >= READERS_WORTH_A_COPY):
            self._copy(working, moving, users)
        return None

    def keep_loaded(self, part: Part, columns: Collection[str], *, is_small: bool) -> Part:
        """Read loaded rows once for all who will: these columns, flags, and what a row's position makes others of."""
        kept = [name for name in sorted(part.columns & {*columns, "_deleted"}) if name not in part.unchanging]
        others = [name for name in part.frame.columns if name not in part.columns]
        rows = part.frame.select(*(quote_name(name) for name in (*kept, *others)))
        frame = self._write_copy(rows, "loaded", is_small=is_small)
        made = frame.alias(WORKING).selectExpr("*", *name_values(part.unchanging))
        return replace(part, frame=made, columns=frozenset((*kept, *part.unchanging)), depth=0)

    def _stage_for(self, working: WorkingDataset, host: OutputOperation, parts: Sequence[Part]) -> StagedOutput:
        indexes = [working.parts.index(part) for part in parts]
        observed = working.observe(host.columns)
        live = union(observed.frames(indexes)).where("NOT `_deleted`")
        working.computing = host.seq
        describe_jobs(self.spark, name_step(host.seq, host.name))
        staged = self.sinks.stage(host, select_columns(live, host.columns))
        observed.record(indexes)
        if staged.uri is not None:
            self._take_over_written(working, indexes, self._read(staged.uri, host.columns), host.columns, host.seq)
        return staged

    def _copy(self, working: WorkingDataset, parts: Sequence[Part], operations: Sequence[AnyOperation]) -> None:
        """Write the rows, which are read from there from then on."""
        known = list_known(find_origins(parts))
        if sees_deleted(operations):
            del known["_deleted"]
        needed = (list_needed_by(operations) | {"_deleted"}) - known.keys() or {"_operation_seq"}
        kept = [column for column in working.columns if column.name in needed]
        indexes = [working.parts.index(part) for part in parts]
        observed = working.observe(kept)
        rows = union(observed.frames(indexes))
        if "_deleted" in known:
            rows = rows.where("NOT `_deleted`")
        frame = self._write_copy(select_columns(rows, kept), "rows")
        observed.record(indexes)
        self._take_over_written(working, indexes, frame, kept)

    def _write_copy(self, rows: DataFrame, name: str, *, is_small: bool = False) -> DataFrame:
        """Write rows to a scratch folder; few rows, and rows for which there is none, stay with the executors."""
        uri = None if is_small else self.sinks.scratch(name)
        if uri is None:
            return rows.localCheckpoint()
        rows.write.mode("append").options(**COPY_OPTIONS).parquet(uri)
        return self.spark.read.options(**VERIFIED).schema(rows.schema).parquet(escape_pattern(uri))

    def _take_over_written(
        self,
        working: WorkingDataset,
        indexes: Sequence[int],
        frame: DataFrame,
        columns: Sequence[Column],
        staged_for: int | None = None,
    ) -> None:
        """Replace rows by those that were written, with the columns that are known of all of them."""
        names = frozenset(column.name for column in columns)
        origins = find_origins([working.parts[index] for index in indexes])
        known = {name: value for name, value in list_known(origins).items() if name not in names}
        frame = frame.selectExpr("*", *name_values(known))
        written = Part(frame, names | known.keys(), origins, staged_for=staged_for)
        working.parts = [part for index, part in enumerate(working.parts) if index not in indexes]
        working.append(written)

    def _read(self, uri: str, columns: Sequence[Column]) -> DataFrame:
        return self.spark.read.options(**VERIFIED).schema(write_schema(columns)).parquet(escape_pattern(uri))


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

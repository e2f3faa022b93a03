"""What is reported of each operation: its rows, matches and time, as soon as an action has counted them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    UpdateOperation,
)
from spark_jobs.contract.report import JoinReport, OperationReport
from spark_jobs.rows.flags import DELETED_BEFORE, added_flag, matched_flag, touched_flag
from spark_jobs.rows.working import WorkingDataset


@dataclass(slots=True)
class OperationReports:
    """Reports of a plan's operations; counts are None as long as no action has counted them."""

    operations: Sequence[AnyOperation]
    seconds: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By the seq of an operation."""
    written: dict[int, int] = field(default_factory=dict)
    """Rows by the seq of an output."""

    def report_all(self, working: WorkingDataset) -> tuple[OperationReport, ...]:
        """Return the reports of all operations."""
        return tuple(self.report(working, operation) for operation in self.operations)

    def report(self, working: WorkingDataset, operation: AnyOperation) -> OperationReport:
        """Return the report of an operation."""
        return OperationReport(
            operation.seq,
            operation.type,
            operation.name,
            self._count_affected(working.counts, operation),
            self._count_after(working.counts, operation.seq),
            round(self.seconds[operation.seq], 3),
            operation.seq if isinstance(operation, OutputOperation) else working.computed_with.get(operation.seq),
            tuple(self._count_matches(working.counts, operation)),
        )

    def _count_matches(self, counts: Mapping[str, int], operation: AnyOperation) -> Iterator[JoinReport]:
        touched = self._count_affected(counts, operation)
        for join in operation.joins:
            if join.counted:
                matched = counts.get(matched_flag(operation.seq, join.alias))
                unmatched = None if touched is None or matched is None else touched - matched
                yield JoinReport(join.alias, matched, unmatched)

    def _count_affected(self, counts: Mapping[str, int], operation: AnyOperation) -> int | None:
        if isinstance(operation, OutputOperation):
            return self.written.get(operation.seq)
        if isinstance(operation, AggregateOperation | AppendOperation):
            return counts.get(added_flag(operation.seq))
        if isinstance(operation, UpdateOperation) and operation.where is None:
            return self._count_after(counts, operation.seq)
        return counts.get(touched_flag(operation.seq))

    def _count_after(self, counts: Mapping[str, int], seq: int) -> int | None:
        total = counts.get(added_flag(0))
        if total is None:
            return None
        total -= counts.get(DELETED_BEFORE, 0)
        for operation in self.operations:
            if operation.seq > seq or isinstance(operation, OutputOperation | UpdateOperation):
                continue
            affected = self._count_affected(counts, operation)
            if affected is None:
                return None
            total += -affected if isinstance(operation, DeleteOperation) else affected
        return total

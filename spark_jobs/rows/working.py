"""The working dataset between operations: frames that together hold its rows, and the counts that travel with them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Observation, functions

from spark_jobs.contract.sql import WORKING, quote_name
from spark_jobs.rows.flags import FlagRegister, added_flag
from spark_jobs.rows.system_columns import name_values

if TYPE_CHECKING:
    from pyspark.sql import Column as Metric
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import Operation
    from spark_jobs.contract.tables import Column

MAX_IN_ONE_METHOD = 24
"""Assignments, conditions and joins that become one method of generated code.

Spark puts all that it can into one, up to the next observation, and Java never compiles a method of more than 8,000
bytes: every row would be interpreted.
"""
_names = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows of the working dataset, with flags that have not been counted yet."""

    frame: DataFrame
    columns: frozenset[str]
    """The columns of the frame, flags apart; asking the frame would cost as much as a projection."""
    origins: frozenset[int]
    """Where its rows come from: 0 is the input, else the seq of the operation that made them."""
    flags: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    """Columns whose values may fail and have not been computed for all rows yet."""
    depth: int = 0
    """Operations since the rows were last materialised."""
    code: int = 0
    """Assignments, conditions and joins since generated code began anew."""
    staged_for: int | None = None
    """Seq of the output that these rows have been staged for, as they are."""
    is_kept: bool = False
    """That the rows were computed once and are kept."""
    pending: frozenset[int] = frozenset()
    """Seqs of the operations that no action has computed yet for these rows."""
    unchanging: Mapping[str, str] = field(default_factory=dict)
    """SQL of columns that a row's position is enough to make: an observation copies its rows without them."""


@dataclass(slots=True)
class InputTotals:
    """Aggregates over the loaded rows that come with the action that counts these."""

    metrics: Mapping[str, str]
    """SQL by name."""
    columns: frozenset[str]
    """The columns that they read."""
    found: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class WorkingDataset:
    """Parts that only differ in where their rows come from, and their columns in order."""

    parts: list[Part]
    columns: tuple[Column, ...]
    counts: dict[str, int] = field(default_factory=dict)
    register: FlagRegister = field(default_factory=FlagRegister)
    computing: int | None = None
    """Seq of the operation on behalf of which actions run now; None after the last one."""
    computed_with: dict[int, int | None] = field(default_factory=dict)
    """By the seq of an operation, of the operation whose action computed it first."""
    totals: InputTotals | None = None

    def append(self, part: Part) -> None:
        """Add rows; kept ones become one part with those that were kept before."""
        if part.is_kept:
            part = replace(merge([*(other for other in self.parts if other.is_kept), part]), is_kept=True)
            self.parts = [other for other in self.parts if not other.is_kept]
        self.parts.append(part)

    def take(self, operation: Operation, code: int) -> Part | None:
        """Take out all rows that an operation may change, as one part, for their change; None if there cannot be any.

        Its generated code has room for so many more assignments, conditions and joins.
        """
        taken = [part for part in self.parts if operation.may_touch(part.origins)]
        self.parts = [part for part in self.parts if part not in taken]
        if not taken:
            return None
        part = merge(taken)
        part = replace(part, depth=part.depth + 1, staged_for=None, is_kept=False)
        if part.code + code <= MAX_IN_ONE_METHOD:
            return replace(part, code=part.code + code)
        begun = _observe(part, Observation(_name_observation()), [_count_rows()])
        return replace(part, frame=begun, code=code)

    def take_none(self) -> DataFrame:
        """Return no rows, with all columns: what an operation sees that can pick none."""
        return self.drop_flags(self.parts[0]).where("FALSE")

    def observe(self, columns: Iterable[Column]) -> ObservedParts:
        """Return the parts with their pending flags counted by the action that reads these columns next."""
        read = frozenset(column.name for column in columns)
        return ObservedParts(self, [self._observe_part(part, read) for part in self.parts])

    def note_computed(self, index: int) -> None:
        """Note that an action has computed a part's rows."""
        part = self.parts[index]
        for seq in part.pending:
            self.computed_with.setdefault(seq, self.computing)
        self.parts[index] = replace(part, pending=frozenset())

    def drop_flags(self, part: Part) -> DataFrame:
        """Return a part's rows without its flags."""
        return part.frame.drop(*self.register.list_columns(part.flags)) if part.flags else part.frame

    def _observe_part(self, part: Part, read: frozenset[str]) -> tuple[DataFrame, Observation | None]:
        """Return a frame that counts its flags when it is read, and computes what may fail on all rows.

        What is read anyway is computed where the rows are counted, whatever the reader's own filters leave of them.
        """
        if not part.flags and not part.checked:
            return part.frame, None
        counts = [functions.expr(self.register.build_count(flag)).alias(flag) for flag in part.flags]
        metrics = counts or [_count_rows()]
        unread = [name for name in part.checked if name not in read]
        if unread:
            values = ", ".join(quote_name(name) for name in unread)
            metrics.append(functions.expr(f"bit_xor(xxhash64({values}))").alias("@checked"))
        kept: frozenset[str] = frozenset()
        if self.totals is not None and _is_loaded(part):
            metrics += [functions.expr(sql).alias(name) for name, sql in self.totals.metrics.items()]
            kept = self.totals.columns
        observation = Observation(_name_observation())
        observed = replace(part, frame=_observe(part, observation, metrics, kept))
        return self.drop_flags(observed), observation


@dataclass(slots=True)
class ObservedParts:
    """Frames that count their flags while an action reads them."""

    dataset: WorkingDataset
    observed: list[tuple[DataFrame, Observation | None]]

    def frames(self, indexes: Iterable[int] | None = None) -> list[DataFrame]:
        """Return the frames to read."""
        chosen = range(len(self.observed)) if indexes is None else indexes
        return [self.observed[index][0] for index in chosen]

    def record(self, indexes: Iterable[int] | None = None) -> None:
        """Take over the counts after the action has succeeded."""
        for index in range(len(self.observed)) if indexes is None else indexes:
            self.dataset.note_computed(index)
            observation = self.observed[index][1]
            if observation is None:
                continue
            metrics = read_metrics(observation)
            if metrics is None:
                continue
            part = self.dataset.parts[index]
            totals = self.dataset.totals
            if totals is not None and _is_loaded(part):
                totals.found = {name: metrics[name] for name in totals.metrics}
            for flag in part.flags:
                self.dataset.counts[flag] = self.dataset.counts.get(flag, 0) + (metrics[flag] or 0)
            self.dataset.parts[index] = replace(part, frame=self.dataset.drop_flags(part), flags=(), checked=())


def _observe(part: Part, observation: Observation, metrics: Sequence[Metric], kept: Collection[str] = ()) -> DataFrame:
    """Return a part's rows, observed: as every row is copied there, without the columns that can be made above.

    Those that the metrics read are kept.
    """
    made = {name: value for name, value in part.unchanging.items() if name not in kept}
    observed = part.frame.drop(*made).alias(WORKING).observe(observation, *metrics)
    return observed.alias(WORKING).selectExpr("*", *name_values(made)) if made else observed


def _is_loaded(part: Part) -> bool:
    """Tell whether a part holds the loaded rows, no others, and nobody has counted them."""
    return part.origins == {0} and added_flag(0) in part.flags


def _count_rows() -> Metric:
    return functions.expr("count(1)").alias("@rows")


def _name_observation() -> str:
    return f"runtime_{next(_names)}"


def read_metrics(observation: Observation) -> dict[str, Any] | None:
    """Return what was observed, None when the optimizer has found that no row could be read."""
    try:
        return dict(observation.get)
    except (PySparkException, RuntimeError):
        return None
    except Exception as error:  # py4j's own, which Spark Connect does not have
        if type(error).__module__.startswith("py4j"):
            return None
        raise


def merge(parts: Sequence[Part]) -> Part:
    """Return one part with the rows of all."""
    if len(parts) == 1:
        return parts[0]
    return Part(
        union([part.frame for part in parts]),
        frozenset().union(*[part.columns for part in parts]),
        find_origins(parts),
        tuple(dict.fromkeys(flag for part in parts for flag in part.flags)),
        tuple(dict.fromkeys(name for part in parts for name in part.checked)),
        max(part.depth for part in parts),
        max(part.code for part in parts),
        pending=find_pending(parts),
    )


def find_origins(parts: Iterable[Part]) -> frozenset[int]:
    """Return where the rows of any of the parts come from."""
    return frozenset[int]().union(*[part.origins for part in parts])


def find_pending(parts: Iterable[Part]) -> frozenset[int]:
    """Return the operations that no action has computed yet for the rows of any of the parts."""
    return frozenset[int]().union(*[part.pending for part in parts])


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames; a flag that one lacks is NULL there."""
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)

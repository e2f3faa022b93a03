"""The operations of a plan, as they are compiled.

SQL in a plan names three things: `` `@w` `` is the row at hand (the working dataset, or an append's source rows),
`` `@@alias` `` a join's or lookup's columns, and nothing else: every column is written as `` `@w`.`amount` `` or
`` `@@fx`.`rate` ``. A comment `/*@10:assignments[0].expression*/` inside a cast names an entry of `marks`, so that an
overflow on the cluster points at the line of YAML it comes from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from spark_jobs.contract.documents import NOT_IN_DOCUMENT, Between
from spark_jobs.contract.tables import Column, Location

MAX_SEQ = 2**31 - 1

Seq = Annotated[int, Between(1, MAX_SEQ)]


@dataclass(frozen=True, slots=True, order=True)
class Read:
    """A column that SQL reads: of the row at hand, or of an alias."""

    column: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Equality:
    """One equality of a join condition: a side over the row at hand, a side over the alias."""

    row: str
    alias: str


@dataclass(frozen=True, slots=True)
class Join:
    """A left join for one operation: a runtime join, or a lookup that its expressions use."""

    alias: str
    table: str
    """Key into the plan's tables."""
    columns: tuple[str, ...]
    """Columns of the alias that the operation's expressions use, its own condition apart."""
    condition: str
    """The whole condition as SQL."""
    mark: str
    equalities: tuple[Equality, ...] = ()
    """The AND-connected equalities of the condition, when there are any."""
    key: tuple[str, ...] = ()
    """Working columns of the condition, shown as the key of a row with more than one match."""
    reads: tuple[Read, ...] = ()
    """What the condition reads."""
    counted: bool = False
    """Whether the report says how many touched rows have a match: of joins, and not of lookups."""
    required: bool = False
    """Whether a touched row without a match fails the run."""
    alternatives: tuple[str, ...] = ()
    """For a condition without such equalities: conditions that have one each, and of which one is TRUE where it is."""

    @property
    def ways(self) -> tuple[str, ...]:
        """Conditions to look for a match with, each for what the earlier ones do not find."""
        conditions = self.alternatives or (self.condition,)
        return tuple(
            " AND ".join([f"({condition})", *(f"NOT coalesce({earlier}, FALSE)" for earlier in conditions[:index])])
            for index, condition in enumerate(conditions)
        )

    @property
    def is_hashed(self) -> bool:
        """Whether matches are found by equal values."""
        return bool(self.equalities or self.alternatives)

    @property
    def match_columns(self) -> tuple[str, ...]:
        """Columns of the alias that anything reads: the condition, or the operation's expressions."""
        own = (read.column for read in self.reads if read.alias == self.alias)
        return tuple(dict.fromkeys((*self.columns, *own)))

    @property
    def earlier_aliases(self) -> frozenset[str]:
        """Other aliases that the condition reads."""
        return frozenset(read.alias for read in self.reads if read.alias is not None) - {self.alias}


def order_joins(joins: Sequence[Join]) -> list[list[Join]]:
    """Return joins in steps: what reads an earlier alias comes in a later one."""
    steps, waiting = [], list(joins)
    while waiting:
        names = {join.alias for join in waiting}
        steps.append([join for join in waiting if not join.earlier_aliases & names])
        if not steps[-1]:
            raise ValueError("joins wait for each other")
        waiting = [join for join in waiting if join not in steps[-1]]
    return steps


@dataclass(frozen=True, slots=True)
class Expression:
    """A column and the SQL of its value, cast to the column's type."""

    column: str
    type: str
    sql: str
    mark: str
    reads: tuple[Read, ...] = ()
    can_fail: bool = True
    """Whether there are values for which it cannot be computed."""
    is_over_group: bool = False
    """Whether it depends on other rows of the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What all compiled operations have."""

    type: str
    seq: Seq
    name: str
    mark: str
    adds: tuple[Column, ...] = ()
    """Columns that the working dataset has from this operation on."""
    where: str | None = None
    """Selector as SQL; the executor adds that deleted rows are left out."""
    where_reads: tuple[Read, ...] = ()
    joins: tuple[Join, ...] = ()
    """Lookups first, then runtime joins in their order."""
    origins: tuple[int, ...] | None = None
    """Origins of the rows that the selector may pick: 0 is the input, else the seq of what made them; None: any."""
    picks_by_origin: bool = False
    """Whether the selector picks all live rows of these origins."""

    @property
    def where_aliases(self) -> tuple[str, ...]:
        """Aliases that the selector reads, in the order of the joins."""
        read = {found.alias for found in self.where_reads}
        return tuple(join.alias for join in self.joins if join.alias in read)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All values that it computes."""
        return ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Keys of the tables that it reads beside the working dataset."""
        return tuple(dict.fromkeys(join.table for join in self.joins))

    def may_touch(self, origins: Collection[int]) -> bool:
        """Return whether it may touch rows of any of these origins."""
        return self.origins is None or not set(self.origins).isdisjoint(origins)

    def touches_all(self, origins: Collection[int]) -> bool:
        """Return whether it touches all live rows of these origins for certain."""
        if self.where is None:
            return True
        return self.picks_by_origin and self.origins is not None and set(origins) <= set(self.origins)


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A value over the group of a touched row, which assignments and later steps read as a column of the row."""

    column: str
    type: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOperation(Operation):
    """A compiled update."""

    type: Literal["update"] = "update"
    assignments: tuple[Expression, ...]
    group_steps: tuple[tuple[GroupColumn, ...], ...] = ()
    """Columns over groups of the touched rows; each step may read the columns of those before."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All values that it computes."""
        return self.assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateOperation(Operation):
    """A compiled aggregate."""

    type: Literal["aggregate"] = "aggregate"
    group_by: tuple[str, ...]
    aggregations: tuple[Expression, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All values that it computes."""
        return self.aggregations


@dataclass(frozen=True, slots=True)
class Expand:
    """How an append makes a row of each pair of a source row, which the alias names, and a working row."""

    alias: str
    condition: str
    """SQL over both rows that is TRUE for a pair."""
    reads: tuple[Read, ...]
    """What the condition reads."""
    rows: Operation
    """Which working rows are paired, and the lookups of their expressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOperation(Operation):
    """A compiled append; without group_by the source's rows come as they are."""

    type: Literal["append"] = "append"
    source: str
    """Key into the plan's tables."""
    source_dataset_id: str
    columns: tuple[Expression, ...]
    """Working columns that the (aggregated) source rows fill, as SQL over `@w` = those rows; the others are NULL.

    With `expand` the SQL is over `@w` = the working row and the alias = the source row.
    """
    group_by: tuple[str, ...] = ()
    aggregations: tuple[Expression, ...] = ()
    distinct: bool = False
    """Whether one row is left of those that are equal in all columns but system columns."""
    expand: Expand | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All values that it computes."""
        return (*self.aggregations, *self.columns)

    @property
    def tables(self) -> tuple[str, ...]:
        """Keys of the tables that it reads beside the working dataset."""
        return (self.source, *(self.expand.rows.tables if self.expand is not None else ()))

    def may_touch(self, origins: Collection[int]) -> bool:
        """Return whether it may pair rows of any of these origins."""
        return self.expand is not None and self.expand.rows.may_touch(origins)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOperation(Operation):
    """A compiled delete."""

    type: Literal["delete"] = "delete"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an output goes."""

    kind: Literal["files", "jdbc", "table"]
    format: str
    display: str
    """How the destination is shown to people; never holds a secret."""
    uri: str = ""
    """Folder; of a table, the one below which its data files are written."""
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    credential_ref: str | None = None
    shared: bool = False
    """Whether other projects may write the same periods of it."""
    published: tuple[Location, ...] | None = field(default=None, metadata=NOT_IN_DOCUMENT)
    """Of an Iceberg or Delta table: what readers see of the rows that are replaced, where the submitting process,
    which alone has the table's library, has said so."""


@dataclass(frozen=True, slots=True)
class Slice:
    """That an output is also kept as an immutable slice of a registered dataset."""

    dataset_id: str
    dataset_name: str
    uri_prefix: str
    """Folder of this dataset in the slice store; the job makes a new folder below it for each attempt."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """The dataset's definition without a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOperation(Operation):
    """A compiled output."""

    type: Literal["output"] = "output"
    columns: tuple[Column, ...]
    include_deleted: bool
    write_mode: Literal["replace_period", "overwrite"]
    destination: Destination
    slice: Slice | None = None
    distinct: bool = False
    """Whether one row is left of those that are equal in all written columns but system columns."""
    key: tuple[str, ...] = ()
    """Columns that say which row is which, for comparisons; none: rows are compared as a multiset."""


AnyOperation = UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | OutputOperation

"""What a project is after its check: tables, typed expressions, and the schema after every operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.operation import Operation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.schema import DataType

Path = tuple[str | int, ...]
Origin = Literal["declared", "added", "system"]
AsOf = date | Literal["period_start", "period_end", "every_day"] | None
Role = Literal["input", "lookup", "join", "append", "check"]


@dataclass(frozen=True, slots=True)
class WorkingColumn:
    """A column of the working dataset."""

    name: str
    type: DataType
    nullable: bool
    origin: Origin


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table that a project reads, at the version that the check saw."""

    key: str
    role: Role
    operation_seq: int | None
    alias: str | None
    reference: str
    pinned_version: int | None
    dataset: Definition[Dataset]
    table: Table
    location: Place
    as_of: AsOf = None
    """The day whose bitemporal rows are read: the run's if None; all rows for `every_day`."""

    @property
    def is_read_whole(self) -> bool:
        """Whether rows of every day are read."""
        return self.as_of == "every_day"


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """A column, the type that it has, and the expression that is put into it."""

    column: str
    type: DataType
    checked: Checked
    path: Path


@dataclass(frozen=True, slots=True)
class CheckedJoin:
    """A runtime join, or a lookup, with its condition."""

    alias: str
    table: TableUse
    condition: Checked
    path: Path
    required: bool = False
    defaults: Mapping[str, Typed] = field(default_factory=dict)
    """Constants that columns of the alias are on rows without a match."""

    @property
    def is_lookup(self) -> bool:
        """Whether the dataset brings it, and not the operation."""
        return not self.path


@dataclass(frozen=True, slots=True)
class CheckedExpand:
    """How an append pairs source rows, which the alias names, with working rows."""

    alias: str
    condition: Checked
    path: Path


@dataclass(frozen=True, slots=True)
class CheckedOperation:
    """An operation whose expressions have types, with the schema after it."""

    seq: int
    index: int
    operation: Operation
    columns_after: tuple[WorkingColumn, ...]
    where: Checked | None = None
    """Its selector, over the working rows."""
    joins: tuple[CheckedJoin, ...] = ()
    """Lookups that its expressions use, then its runtime joins."""
    expressions: tuple[CheckedExpression, ...] = ()
    """Assignments of an update; aggregations of an aggregate or an append."""
    group_by: tuple[str, ...] = ()
    source: TableUse | None = None
    source_where: Checked | None = None
    """Append: the condition over the source's columns."""
    expand: CheckedExpand | None = None
    """Append: how source rows are paired with working rows."""
    filled: tuple[CheckedExpression, ...] = ()
    """Append: the working columns that the (aggregated) source rows, or the pairs, fill."""
    output_columns: tuple[WorkingColumn, ...] = ()
    is_incomplete: bool = False
    """Whether mistakes keep columns out of `output_columns`."""
    registered_dataset: str | None = None
    key: tuple[str, ...] = ()
    """Business key of an output."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An amount, or a percentage, as exact digits."""

    amount: str
    is_percent: bool = False


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """An aggregate over the rows of an output, of a dataset's table, or of the input when it names neither."""

    value: Checked
    text: str
    path: Path
    where: Checked | None = None
    where_path: Path = ()
    output: int | None = None
    table: TableUse | None = None


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """How far a value may be from an earlier one."""

    since: Literal["previous_period", "last_publication"]
    least: Limit | None
    most: Limit | None


@dataclass(frozen=True, slots=True)
class CheckedCheck:
    """A check whose expressions have types; `key` of an output is one too."""

    name: str
    kind: Literal["rows", "unique", "value"]
    output: int
    on_fail: Literal["block", "warn"]
    path: Path
    at_most: Limit = Limit("0")
    where: Checked | None = None
    """Of `rows` and `unique`; that of a value is kept with the value."""
    rows: Checked | None = None
    rows_text: str = ""
    unique: tuple[str, ...] = ()
    group_by: tuple[tuple[str, DataType], ...] = ()
    """Grouping columns, each with the type in which both sides are compared."""
    value: CheckedValue | None = None
    equals: CheckedValue | str | None = None
    """The other value, or a constant."""
    tolerance: Limit = Limit("0")
    between: tuple[str, str] | None = None
    change: CheckedChange | None = None

    @property
    def values(self) -> tuple[CheckedValue, ...]:
        """Both sides, as far as they are values."""
        return tuple(side for side in (self.value, self.equals) if isinstance(side, CheckedValue))


@dataclass(frozen=True, slots=True)
class CheckedProject:
    """A project after its check; `problems` says what is wrong with it."""

    definition: Definition[Project]
    catalog: Catalog
    input: TableUse | None
    tables: tuple[TableUse, ...]
    input_columns: tuple[WorkingColumn, ...]
    operations: tuple[CheckedOperation, ...]
    problems: tuple[Problem, ...]
    checks: tuple[CheckedCheck, ...] = ()
    depends_on_broken: bool = False
    """Whether it refers to a document that could not be read."""

    @property
    def read_tables(self) -> tuple[TableUse, ...]:
        """The tables that a run reads: all but the lookups that no expression uses."""
        used = {join.table.key for operation in self.operations for join in operation.joins}
        return tuple(use for use in self.tables if use.role != "lookup" or use.key in used)

    @property
    def ok(self) -> bool:
        """Whether the project has no error."""
        return not any(problem.severity == "error" for problem in self.problems)

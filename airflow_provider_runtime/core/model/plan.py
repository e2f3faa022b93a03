"""The plan: the part of a snapshot that the Spark job executes.

`spark_jobs.snapshot` reads the same document with the standard library alone; a contract test holds the two together.

SQL in a plan names three things. `` `@w` `` is the row at hand (the working dataset, or an append's source rows),
`` `@@alias` `` a join's or lookup's columns, and nothing else: every column is written as `` `@w`.`amount` `` or
`` `@@fx`.`rate` ``. A comment `/*@10:assignments[0].expression*/` inside a cast names an entry of `marks`, so that an
overflow on the cluster points at the line of YAML it comes from.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.operation import MAX_SEQ


class PlanColumn(Model):
    """A column with its type as Spark spells it."""

    name: str
    type: str
    nullable: bool = True


class PlanMark(Model):
    """A place in the YAML that an error on the cluster points at."""

    file: str | None = None
    line: int = 1
    column: int = 1
    field: str | None = None
    operation_seq: int | None = None


class PlanLocation(Model):
    """Where rows are: files, a table over JDBC, or rows written out."""

    kind: Literal["files", "jdbc", "memory"]
    format: str = ""
    uri: str = ""
    table: str | None = None
    options: dict[str, str] = Field(default_factory=dict)
    credential_ref: str | None = None
    on_missing: Literal["error", "empty"] = "error"
    period: str | None = None
    """The period whose rows this location holds: the filter's value, and the value of a column that is not there."""
    columns: tuple[str, ...] = ()
    """For memory: names of the values of a row, as a file's header would give them."""
    rows: tuple[tuple[str | None, ...], ...] = ()
    """For memory: one text (or NULL) for each of `columns`."""


class PlanTemporal(Model):
    """How a table's rows are chosen for the run's period."""

    mode: Literal["period", "bitemporal", "snapshot"]
    period_column: str = "_period"
    from_column: str = "_period_from"
    to_column: str = "_period_to"


class PlanTable(Model):
    """A table at a pinned version, with everything that is needed to read it."""

    role: Literal["input", "lookup", "join", "append", "check"]
    dataset_id: str
    dataset_version: int
    table: str
    columns: tuple[PlanColumn, ...]
    natural_key_columns: tuple[str, ...] = ()
    temporal: PlanTemporal
    locations: tuple[PlanLocation, ...]
    mark: str
    """Key of the mark that a failure to read this table points at."""


class PlanEquality(Model):
    """One equality of a join condition: a side over the row at hand, a side over the alias."""

    row: str
    alias: str


class PlanJoin(Model):
    """A left join for one operation: a runtime join or a lookup that its expressions use."""

    alias: str
    table: str
    """Key into the plan's tables."""
    columns: tuple[str, ...]
    """Columns of the alias that the operation's expressions use, its own condition apart."""
    condition: str
    """The whole condition as SQL."""
    equalities: tuple[PlanEquality, ...] = ()
    """The AND-connected equalities of the condition, when there are any."""
    key: tuple[str, ...] = ()
    """Working columns of the condition, shown as the key of a row with more than one match."""
    mark: str


class PlanExpression(Model):
    """A column and the SQL of its value, cast to the column's type."""

    column: str
    type: str
    sql: str
    mark: str


class PlanOperationBase(Model):
    """What all compiled operations have."""

    seq: int = Field(ge=1, le=MAX_SEQ)
    name: str
    mark: str
    where: str | None = None
    """Selector as SQL; the executor adds that deleted rows are left out."""
    joins: tuple[PlanJoin, ...] = ()
    """Lookups first, then runtime joins in their order."""
    where_aliases: tuple[str, ...] = ()
    """Aliases that the selector uses."""
    origins: tuple[int, ...] | None = None
    """Origins of the rows that the selector may pick: 0 is the input, else the seq of what made them; None: any."""
    picks_by_origin: bool = False
    """Whether the selector picks all live rows of these origins."""
    columns_after: tuple[PlanColumn, ...]
    """The working dataset's columns after this operation: declared, added in seq order, system."""


class PlanUpdate(PlanOperationBase):
    """A compiled update."""

    type: Literal["update"]
    assignments: tuple[PlanExpression, ...]


class PlanAggregate(PlanOperationBase):
    """A compiled aggregate."""

    type: Literal["aggregate"]
    group_by: tuple[str, ...]
    aggregations: tuple[PlanExpression, ...]


class PlanAppend(PlanOperationBase):
    """A compiled append; without group_by the source's rows come as they are."""

    type: Literal["append"]
    source: str
    """Key into the plan's tables."""
    source_dataset_id: str
    group_by: tuple[str, ...] = ()
    aggregations: tuple[PlanExpression, ...] = ()
    columns: tuple[PlanExpression, ...]
    """Working columns that the (aggregated) source rows fill, as SQL over `@w` = those rows; the others are NULL."""


class PlanDelete(PlanOperationBase):
    """A compiled delete."""

    type: Literal["delete"]


class PlanDestination(Model):
    """Where an output goes."""

    kind: Literal["files", "jdbc"]
    format: str
    uri: str = ""
    table: str | None = None
    options: dict[str, str] = Field(default_factory=dict)
    credential_ref: str | None = None
    display: str
    """How the destination is shown to people; never holds a secret."""


class PlanSlice(Model):
    """That an output is also kept as an immutable slice of a registered dataset."""

    dataset_id: str
    dataset_name: str
    uri_prefix: str
    """Folder of this dataset in the slice store; the job makes a new folder below it for each attempt."""


class PlanOutput(PlanOperationBase):
    """A compiled output."""

    type: Literal["output"]
    columns: tuple[PlanColumn, ...]
    include_deleted: bool
    write_mode: Literal["replace_period", "overwrite"]
    destination: PlanDestination
    slice: PlanSlice | None = None


PlanOperation = Annotated[
    PlanUpdate | PlanAggregate | PlanAppend | PlanDelete | PlanOutput, Field(discriminator="type")
]


class Plan(Model):
    """What the Spark job executes."""

    tables: dict[str, PlanTable]
    input: str
    """Key into tables."""
    input_columns: tuple[PlanColumn, ...]
    """The working dataset's columns before the first operation, system columns included."""
    operations: tuple[PlanOperation, ...]
    marks: dict[str, PlanMark]
    project_name: str
    settings: dict[str, Any] = Field(default_factory=dict)

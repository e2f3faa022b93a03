"""The five operations of a project.

Lists that must not be empty and names that must be identifiers are left open here: the project check reports
them with the codes and texts of their own operation.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from airflow_provider_runtime.core.model.base import (
    Boolean,
    BoundedText,
    ExpressionText,
    FormatName,
    Identifier,
    Model,
    Name,
    NonEmptyBoundedText,
    NonEmptyText,
    Text,
    Title,
    Version,
)

MAX_SEQ = 2**31 - 1


def read_origins(value: Any) -> Any:
    """Return where rows come from: `loaded`, `all`, or the seqs of the operations that made them."""
    if value in ("loaded", "all"):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(item, int) for item in value):
        return tuple(int(item) for item in value)
    hint = "write from: loaded, from: all, or from: [10, 20] with the seqs of the operations that made the rows"
    raise PydanticCustomError("definition", "expected loaded, all, or a list of seqs", {"hint": hint})


RowOrigins = Annotated[
    Literal["loaded", "all"] | tuple[int, ...],
    BeforeValidator(read_origins),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["loaded", "all"]},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ]
        },
        mode="validation",
    ),
]
"""Rows by where they come from: the input, every origin, or the operations that made them."""


class RuntimeJoin(Model):
    """A dataset that is left-joined for one update."""

    alias: Name
    """Name of the joined dataset in this operation's expressions."""
    dataset_id: NonEmptyText
    """Id or unique name of the dataset."""
    dataset_version: Version | None = None
    """Version to read; the latest active one if left out."""
    on: Text
    """Boolean expression over the working columns, earlier aliases and this alias."""
    required: Boolean = False
    """Whether the run fails, with the keys in question, when a touched row has no match."""
    default: dict[Name, Text | None] = Field(default_factory=dict)
    """Values that columns of this alias have on rows without a match; NULL where nothing is listed."""
    as_of: Text | None = None
    """Day on which bitemporal rows hold: period_start, period_end, YYYY-MM-DD, or an expression; else the run's."""


class Assignment(Model):
    """A column and the expression that it is set to."""

    column: Text
    """Column that is set; a new name adds a column."""
    expression: ExpressionText
    """Expression of the value."""


class Aggregation(Model):
    """A column and the aggregate expression that fills it."""

    column: Text
    """Column that is filled; a new name adds a column."""
    expression: ExpressionText
    """Aggregate expression, such as SUM(amount) / COUNT(*)."""


class UpdateArguments(Model):
    """Arguments of update."""

    joins: tuple[RuntimeJoin, ...] = ()
    """Datasets that are left-joined, in this order."""
    assignments: tuple[Assignment, ...] = ()
    """Columns and their values, evaluated together."""


class AggregateArguments(Model):
    """Arguments of aggregate, and of append's aggregation."""

    group_by: tuple[Text, ...]
    """Columns whose values make a group; an empty list makes one row, even of no rows."""
    aggregations: tuple[Aggregation, ...] = ()
    """Columns and the aggregate expressions that fill them."""


class DatasetRef(Model):
    """A dataset, by id or name, at a version or the latest."""

    dataset_id: NonEmptyText
    """Id or unique name of the dataset."""
    dataset_version: Version | None = None
    """Version to read; the latest active one if left out."""


class PairedColumn(Model):
    """A column of a new row, and its expression over the source row and the working row."""

    column: Text
    """Column that is filled; with add_columns, a new name adds a column."""
    expression: ExpressionText
    """Expression over the working columns and the columns of the source row, as alias.column."""


class Expand(Model):
    """Pairs of source rows and selected working rows, each of which makes a new row."""

    alias: Name
    """Name of the source row in `on` and in the expressions of the columns."""
    on: Text
    """Boolean expression over both rows; TRUE pairs every source row with every selected row."""
    columns: tuple[PairedColumn, ...] = Field(min_length=1)
    """Columns of the new rows; those that are not listed are NULL."""


class AppendArguments(Model):
    """Arguments of append."""

    source: DatasetRef
    """Dataset whose rows are appended."""
    source_selector: Text | None = None
    """Condition over the source's columns; all rows if left out."""
    aggregation: AggregateArguments | None = None
    """Grouping of the source's rows before they are appended."""
    expand: Expand | None = None
    """One new row for every pair of a source row and a selected working row."""
    distinct: Boolean = False
    """Whether rows that are equal in all columns but system columns are appended only once."""
    add_columns: Boolean = False
    """Whether source columns that the working dataset does not have are added to it."""


class DeleteArguments(Model):
    """Arguments of delete: none."""


class Destination(Model):
    """A table or path of a datasource, or a location written out in place."""

    datasource_id: Identifier | None = None
    """Datasource to write to."""
    table: NonEmptyBoundedText | None = None
    """Table, or for files folder, of the datasource."""
    type: FormatName | None = None
    """Format of a location that is written out here."""
    path: NonEmptyBoundedText | None = None
    """Folder below the datasource's prefix, or any path together with type."""
    schema_: BoundedText | None = Field(default=None, alias="schema")
    """Schema of the table in the database."""
    options: dict[str, BoundedText] = Field(default_factory=dict)
    """Options for Spark's writer; never a secret."""
    shared: Boolean = False
    """Whether other projects may write the same periods of it, and this project theirs."""


class OutputArguments(Model):
    """Arguments of output."""

    destination: Destination
    """Where the rows go."""
    columns: tuple[Text, ...] | None = None
    """Columns in the order in which they are written; all if left out."""
    key: tuple[Text, ...] | None = None
    """Business key: columns that identify a row; if two rows have the same values, nothing is published."""
    include_deleted: Boolean = False
    """Whether rows marked as deleted are written too."""
    distinct: Boolean = False
    """Whether rows that are equal in all written columns but system columns are written only once."""
    write_mode: Literal["replace_period", "overwrite"] = "replace_period"
    """Replace this period's rows only, or the whole table."""
    register_as_dataset: Title | None = None
    """Name of the dataset of which each run registers a version."""


class BaseOperation(Model):
    """What all operations have."""

    id: Identifier | None = None
    """Id of the operation."""
    seq: int = Field(
        ge=-MAX_SEQ, le=MAX_SEQ, json_schema_extra={"minimum": 1}, validation_alias=AliasChoices("seq", "order")
    )
    """Position in the project; positive, and unique in it."""
    name: Title
    """Name for people."""
    description: Text | None = None
    """What the operation is for."""


class UpdateOperation(BaseOperation):
    """Sets columns on the selected rows."""

    type: Literal["update"]
    """Kind of the operation."""
    selector: Text | None = None
    """Condition that chooses the rows; all rows if left out."""
    arguments: UpdateArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))
    """Arguments of update."""


class AggregateOperation(BaseOperation):
    """Appends one summary row for each group of the selected rows."""

    type: Literal["aggregate"]
    """Kind of the operation."""
    selector: Text | None = None
    """Condition that chooses the rows; all rows if left out."""
    from_: RowOrigins | None = Field(default=None, alias="from")
    """Rows by their origin, beside selector: loaded, all, or a list of the operations that made them."""
    arguments: AggregateArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))
    """Arguments of aggregate."""


class AppendOperation(BaseOperation):
    """Appends the rows of another dataset."""

    type: Literal["append"]
    """Kind of the operation."""
    selector: Text | None = None
    """With expand: condition that chooses the working rows to pair; all rows if left out."""
    from_: RowOrigins | None = Field(default=None, alias="from")
    """With expand: working rows by their origin: loaded, all, or a list of the operations that made them."""
    arguments: AppendArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))
    """Arguments of append."""


class DeleteOperation(BaseOperation):
    """Marks the selected rows as deleted."""

    type: Literal["delete"]
    """Kind of the operation."""
    selector: Text | None = None
    """Condition that chooses the rows; all rows if left out."""
    arguments: DeleteArguments = Field(
        default=DeleteArguments(), validation_alias=AliasChoices("arguments", "parameters")
    )
    """Arguments of delete; can be left out."""


class OutputOperation(BaseOperation):
    """Writes the selected rows to a destination."""

    type: Literal["output"]
    """Kind of the operation."""
    selector: Text | None = None
    """Condition that chooses the rows; all rows if left out."""
    from_: RowOrigins | None = Field(default=None, alias="from")
    """Rows by their origin, beside selector: loaded, all, or a list of the operations that made them."""
    arguments: OutputArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))
    """Arguments of output."""


Operation = Annotated[
    UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | OutputOperation,
    Field(discriminator="type"),
]

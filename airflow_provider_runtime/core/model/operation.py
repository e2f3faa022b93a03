"""The five operations of a project.

Lists that must not be empty and names that must be identifiers are left open here: the project check reports
them with the codes and texts of their own operation.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from airflow_provider_runtime.core.model.base import Boolean, Identifier, Model, Name, NonEmptyText, Text, Version

MAX_SEQ = 2**31 - 1


class RuntimeJoin(Model):
    """A dataset that is left-joined for one update."""

    alias: Name
    dataset_id: NonEmptyText
    dataset_version: Version | None = None
    on: Text


class Assignment(Model):
    """A column and the expression that it is set to."""

    column: Text
    expression: Text


class Aggregation(Model):
    """A column and the aggregate expression that fills it."""

    column: Text
    expression: Text


class UpdateArguments(Model):
    """Arguments of update."""

    joins: tuple[RuntimeJoin, ...] = ()
    assignments: tuple[Assignment, ...] = ()


class AggregateArguments(Model):
    """Arguments of aggregate, and of append's aggregation."""

    group_by: tuple[Text, ...] = ()
    aggregations: tuple[Aggregation, ...] = ()


class DatasetRef(Model):
    """A dataset, by id or name, at a version or the latest."""

    dataset_id: NonEmptyText
    dataset_version: Version | None = None


class AppendArguments(Model):
    """Arguments of append."""

    source: DatasetRef
    source_selector: Text | None = None
    aggregation: AggregateArguments | None = None


class DeleteArguments(Model):
    """Arguments of delete: none."""


class Destination(Model):
    """A table or path of a datasource, or a location written out in place."""

    datasource_id: Identifier | None = None
    table: NonEmptyText | None = None
    type: NonEmptyText | None = None
    path: NonEmptyText | None = None
    schema_: Text | None = Field(default=None, alias="schema")
    options: dict[str, Text] = Field(default_factory=dict)


class OutputArguments(Model):
    """Arguments of output."""

    destination: Destination
    columns: tuple[Text, ...] | None = None
    include_deleted: Boolean = False
    write_mode: Literal["replace_period", "overwrite"] = "replace_period"
    register_as_dataset: NonEmptyText | None = None


class BaseOperation(Model):
    """What all operations have."""

    id: Identifier | None = None
    seq: int = Field(ge=-MAX_SEQ, le=MAX_SEQ, validation_alias=AliasChoices("seq", "order"))
    name: NonEmptyText
    description: Text | None = None


class UpdateOperation(BaseOperation):
    """Sets columns on the selected rows."""

    type: Literal["update"]
    selector: Text | None = None
    arguments: UpdateArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))


class AggregateOperation(BaseOperation):
    """Appends one summary row for each group of the selected rows."""

    type: Literal["aggregate"]
    selector: Text | None = None
    arguments: AggregateArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))


class AppendOperation(BaseOperation):
    """Appends the rows of another dataset."""

    type: Literal["append"]
    arguments: AppendArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))


class DeleteOperation(BaseOperation):
    """Marks the selected rows as deleted."""

    type: Literal["delete"]
    selector: Text | None = None
    arguments: DeleteArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))


class OutputOperation(BaseOperation):
    """Writes the selected rows to a destination."""

    type: Literal["output"]
    selector: Text | None = None
    arguments: OutputArguments = Field(validation_alias=AliasChoices("arguments", "parameters"))


Operation = Annotated[
    UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | OutputOperation,
    Field(discriminator="type"),
]
OPERATION_TYPES: tuple[str, ...] = ("update", "aggregate", "append", "delete", "output")

"""Checks: what must be true of an output's rows before anything is published.

Which keys go together, and whether a text is a number or a percentage, is left open here: the project check reports
that with the checks' own code.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from airflow_provider_runtime.core.model.base import ExpressionText, Model, NonEmptyText, Text, Title, Version


class ComparedValue(Model):
    """A value of the input, of an output, or of a dataset, that a check's value must be equal to."""

    input: ExpressionText | None = None
    """Aggregate expression over the input's rows as they were loaded."""
    output: int | None = None
    """Seq of the output that `value` is of."""
    dataset_id: NonEmptyText | None = None
    """Id or unique name of the dataset that `value` is of."""
    dataset_version: Version | None = None
    """Version to read; the latest active one if left out."""
    value: ExpressionText | None = None
    """Aggregate expression over the rows of that output or dataset."""
    where: Text | None = None
    """Condition on the rows of this side; all rows if left out."""


class Change(Model):
    """How far a value may be from the one that an earlier publication recorded."""

    from_: Text | None = Field(default=None, alias="from")
    """Least change: a percentage such as -20%, or an amount; no limit if left out."""
    to: Text | None = None
    """Greatest change: a percentage such as 20%, or an amount; no limit if left out."""
    since: Literal["previous_period", "last_publication"] = "previous_period"
    """The publication that is compared with: of the period before, or the last one of this period."""


def _find_kind(value: Any) -> str:
    return "other" if isinstance(value, dict | ComparedValue) else "constant"


Expected = Annotated[
    Annotated[ComparedValue, Tag("other")] | Annotated[Text, Tag("constant")], Discriminator(_find_kind)
]


class Check(Model):
    """One thing that must be true of the rows of an output: `rows`, `unique` or `value` says what."""

    name: Title
    """Name, unique in the project."""
    output: int
    """Seq of the output operation whose rows are looked at."""
    where: Text | None = None
    """Condition: only these rows of the output are checked; all if left out."""
    rows: ExpressionText | None = None
    """Condition that must be TRUE for every row; FALSE and NULL fail."""
    unique: tuple[Text, ...] | None = None
    """Columns whose values may not occur together in more than one row; NULLs count as equal."""
    at_most: Text = "0"
    """Failing rows of `rows` and `unique` that are tolerated: a whole number, or a percentage of the rows looked at."""
    value: ExpressionText | None = None
    """Aggregate expression; alone it is a control total, which is recorded and cannot fail."""
    group_by: tuple[Text, ...] = ()
    """Columns whose values make a group: each has its own value."""
    equals: Expected | None = None
    """Constant or other value that the value must be equal to."""
    tolerance: Text | None = None
    """How far it may be from `equals`: an amount, or a percentage of the right side; exactly equal if left out."""
    between: tuple[Text, ...] | None = None
    """The least and the greatest value that are allowed."""
    change: Change | None = None
    """How far it may be from the value of an earlier publication."""
    on_fail: Literal["block", "warn"] = "block"
    """Publish nothing, or publish and warn."""

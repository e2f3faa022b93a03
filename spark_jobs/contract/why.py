"""The history of rows: what is asked, and what is answered for each row, as `airflow-runtime why` shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spark_jobs.contract.comparison import Values

LOADED = "load"
"""Type of the step that says with which values a row was loaded."""
MOST_CONTRIBUTIONS = 5


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows of the working dataset, and the columns that it reads."""

    sql: str
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Term:
    """What a row adds to an aggregated column: the value that is summed up."""

    column: str
    sql: str


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """The rows that are asked about: those for which all conditions hold, or the one with this id."""

    conditions: tuple[Condition, ...] = ()
    row_id: str | None = None
    output: int | None = None
    """The number of an output: only rows that it picks, and as they are when it does."""
    limit: int = 5
    terms: Mapping[int, Sequence[Term]] = field(default_factory=dict)
    """What is summed up, by the number of the operation."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row came from."""

    dataset_id: str
    version: int
    operation_seq: int
    file: str | None = None


@dataclass(frozen=True, slots=True)
class JoinMatch:
    """What a join has found for a row: the columns of its condition, and those that are used; None: nothing."""

    alias: str
    match: Values | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A column's value before and after a step."""

    column: str
    before: str | None = None
    after: str | None = None
    expression: str | None = None
    """As it is written in the project; None where it says nothing about the column."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one row has added to a sum."""

    column: str
    row_id: str | None
    """None for a row of an append's source, which has no id."""
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """The group that a row stands for, or that it went into."""

    key: Values
    rows: int = 0
    contributions: tuple[Contribution, ...] = ()
    """The largest ones, of each summed column."""


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation did with a row; the first step is how the row came to be."""

    seq: int
    type: str
    name: str
    file: str | None = None
    line: int = 1
    touched: bool = False
    joins: tuple[JoinMatch, ...] = ()
    changes: tuple[Change, ...] = ()
    group: Group | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A column in which what was replayed and what is published differ."""

    column: str
    replayed: str | None
    published: str | None


@dataclass(frozen=True, slots=True)
class OutputProof:
    """A row as an output has it, beside what is published."""

    seq: int
    selected: bool
    """Whether the output's selector picks the row."""
    published: bool = False
    """Whether the row is found among those that are published."""
    equal: bool | None = None
    """Whether the published row has the same values; None where there is nothing to compare."""
    differences: tuple[Difference, ...] = ()
    values: Values | None = field(default=None)
    """The row as the output selects it."""


@dataclass(frozen=True, slots=True)
class RowHistory:
    """All that is known of a row."""

    row_id: str
    origin: Origin
    steps: tuple[Step, ...] = ()
    outputs: tuple[OutputProof, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """All rows that were asked for."""

    rows: tuple[RowHistory, ...] = ()
    changed_sources: tuple[str, ...] = ()
    """Files that were changed since the run has read them."""
    has_more: bool = False
    """Whether there are more rows than the limit."""

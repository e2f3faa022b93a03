"""Scenarios: a project, rows in, and what is expected to come out."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_provider_runtime.core.model.base import Day, Model, Name, NonEmptyText, Text, Version
from airflow_provider_runtime.core.run_timestamps import EXAMPLE, read_run_timestamp
from spark_jobs.contract.checks import CheckStatus

INLINE_KINDS = {
    "calendars": "calendar",
    "datasources": "datasource",
    "resolvers": "resolver",
    "datasets": "dataset",
    "projects": "project",
}
"""Keys of a scenario that list definitions, and the kind of each."""


def read_as_timestamp(value: Any) -> Any:
    """Return the timestamp that a text in ISO form stands for; without a zone it is UTC."""
    if not isinstance(value, str):
        return value
    try:
        return read_run_timestamp(value)
    except ValueError as error:
        raise PydanticCustomError(
            "definition", "{reason}", {"reason": str(error), "hint": f"write it like {EXAMPLE}"}
        ) from None


def read_as_pattern(value: Any) -> Any:
    """Return the text of a regular expression, after trying that it is one."""
    text = getattr(value, "text", value)
    if isinstance(text, str):
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise PydanticCustomError(
                "definition", "not a regular expression: {reason}", {"reason": str(error), "hint": "escape it with \\"}
            ) from None
    return text


RunTimestamp = Annotated[datetime, BeforeValidator(read_as_timestamp)]
Pattern = Annotated[str, BeforeValidator(read_as_pattern)]


class ScenarioRun(Model):
    """Which project is run, and for which period."""

    project: NonEmptyText
    """Id or name of the project."""
    period: NonEmptyText
    """Identifier of the period."""
    as_of: Day | None = None
    """Day as of which bitemporal tables are read; the period's first day if left out."""
    timestamp: RunTimestamp | None = None
    """Timestamp of the run; the day after the period's end, 00:00Z, if left out."""


class ScenarioData(Model):
    """Rows of a table, written out or in a file."""

    dataset: NonEmptyText
    """Id or name of the dataset."""
    version: Version | None = None
    """Version that the rows are for; all versions if left out."""
    table: Name | None = None
    """Table that the rows are for; the main table if left out."""
    rows: tuple[dict[str, Any], ...] | None = None
    """Rows as mappings of column and value."""
    file: NonEmptyText | None = None
    """File with the rows, csv, parquet or json, relative to the scenario."""

    @model_validator(mode="after")
    def _check_source(self) -> ScenarioData:
        if (self.rows is None) == (self.file is None):
            raise PydanticCustomError(
                "definition", "give either rows or a file", {"hint": "add 'rows: […]' or 'file: …', not both"}
            )
        return self


class ExpectedOutput(Model):
    """What an output operation is expected to write."""

    operation: int
    """Seq of the output operation."""
    match: Literal["exact", "subset"] = "exact"
    """Whether these are all the rows, or some of them."""
    columns: tuple[Text, ...] | None = None
    """The output's columns, exactly and in order."""
    rows: tuple[dict[str, Any], ...] | None = None
    """Expected rows, in any order; only the columns that they name are compared."""
    row_count: int | None = Field(default=None, ge=0)
    """Number of rows."""


class ExpectedError(Model):
    """The error that the scenario is expected to end in."""

    code: NonEmptyText
    """Code of the error."""
    message: Pattern | None = None
    """Regular expression that the message contains."""


class ExpectedCheck(Model):
    """What is expected to come of a check; only the keys that are given are compared."""

    name: NonEmptyText
    """Name of the check."""
    status: CheckStatus | None = None
    """How it ended."""
    value: Any = None
    """The value, read as its type, so that 5 and "5.00" are equal."""
    failing_rows: int | None = Field(default=None, ge=0)
    """How many rows failed."""


class Expect(Model):
    """Everything that a scenario is compared with."""

    outputs: tuple[ExpectedOutput, ...] = ()
    """What outputs write."""
    snapshot: dict[str, Any] | None = None
    """Part of the resolver snapshot."""
    checks: tuple[ExpectedCheck, ...] = ()
    """Expected results of checks, beside outputs or error."""
    error: ExpectedError | None = None
    """Error that the run ends in, in place of outputs."""

    @model_validator(mode="after")
    def _check_one_of(self) -> Expect:
        if self.error is not None and self.outputs:
            raise PydanticCustomError(
                "definition", "outputs and error exclude each other", {"hint": "remove one", "field": "error"}
            )
        if self.error is None and not self.outputs and not self.checks and self.snapshot is None:
            raise PydanticCustomError(
                "definition", "nothing is expected", {"hint": "add outputs, checks, snapshot or error below expect"}
            )
        return self


class Scenario(Model):
    """One scenario test."""

    scenario: NonEmptyText
    """Name of the scenario."""
    description: Text | None = None
    """What the scenario shows."""
    run: ScenarioRun
    """What is run."""
    catalog: NonEmptyText | None = None
    """Folder of definitions, relative to the scenario."""
    calendars: tuple[dict[str, Any], ...] = ()
    """Calendars beside those of the folder."""
    datasources: tuple[dict[str, Any], ...] = ()
    """Datasources beside those of the folder."""
    resolvers: tuple[dict[str, Any], ...] = ()
    """Resolvers beside those of the folder; without any a built-in one serves."""
    datasets: tuple[dict[str, Any], ...] = ()
    """Datasets beside those of the folder."""
    projects: tuple[dict[str, Any], ...] = ()
    """Projects beside those of the folder."""
    data: tuple[ScenarioData, ...] = ()
    """Rows served in place of real locations; a table that is not given is empty."""
    expect: Expect
    """What must come out."""

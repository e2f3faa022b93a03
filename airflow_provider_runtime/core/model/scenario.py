"""Scenarios: a project, rows in, and what is expected to come out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_provider_runtime.core.model.base import Day, Model, Name, NonEmptyText, Text, Version

INLINE_KINDS = {
    "calendars": "calendar",
    "datasources": "datasource",
    "resolvers": "resolver",
    "datasets": "dataset",
    "projects": "project",
}
"""Keys of a scenario that list definitions, and the kind of each."""


def read_as_moment(value: Any) -> Any:
    """Return the moment that a text in ISO form stands for; without a zone it is UTC."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise PydanticCustomError(
            "definition",
            "{found} is no timestamp",
            {"found": repr(value), "hint": "write it like 2026-02-01T00:00:00Z"},
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def read_as_pattern(value: Any) -> Any:
    """Return the text of a regular expression, after trying that it is one."""
    text = getattr(value, "text", value)
    if isinstance(text, str):
        try:
            re.compile(text)
        except re.error as error:
            raise PydanticCustomError(
                "definition", "no regular expression: {reason}", {"reason": str(error), "hint": "escape it with \\"}
            ) from None
    return text


Moment = Annotated[datetime, BeforeValidator(read_as_moment)]
Pattern = Annotated[str, BeforeValidator(read_as_pattern)]


class ScenarioRun(Model):
    """Which project is run, and for which period."""

    project: NonEmptyText
    period: NonEmptyText
    as_of: Day | None = None
    timestamp: Moment | None = None


class ScenarioData(Model):
    """Rows of a table, written out or in a file."""

    dataset: NonEmptyText
    version: Version | None = None
    table: Name | None = None
    rows: tuple[dict[str, Any], ...] | None = None
    file: NonEmptyText | None = None

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
    match: Literal["exact", "subset"] = "exact"
    columns: tuple[Text, ...] | None = None
    rows: tuple[dict[str, Any], ...] | None = None
    row_count: int | None = Field(default=None, ge=0)


class ExpectedError(Model):
    """The error that the scenario is expected to end in."""

    code: NonEmptyText
    message: Pattern | None = None


class Expect(Model):
    """Everything that a scenario is compared with."""

    outputs: tuple[ExpectedOutput, ...] = ()
    snapshot: dict[str, Any] | None = None
    error: ExpectedError | None = None

    @model_validator(mode="after")
    def _check_one_of(self) -> Expect:
        if self.error is not None and self.outputs:
            raise PydanticCustomError(
                "definition", "outputs and error exclude each other", {"hint": "remove one", "field": "error"}
            )
        if self.error is None and not self.outputs and self.snapshot is None:
            raise PydanticCustomError(
                "definition", "nothing is expected", {"hint": "add outputs, snapshot or error below expect"}
            )
        return self


class Scenario(Model):
    """One scenario test."""

    scenario: NonEmptyText
    description: Text | None = None
    run: ScenarioRun
    catalog: NonEmptyText | None = None
    calendars: tuple[dict[str, Any], ...] = ()
    datasources: tuple[dict[str, Any], ...] = ()
    resolvers: tuple[dict[str, Any], ...] = ()
    datasets: tuple[dict[str, Any], ...] = ()
    projects: tuple[dict[str, Any], ...] = ()
    data: tuple[ScenarioData, ...] = ()
    expect: Expect

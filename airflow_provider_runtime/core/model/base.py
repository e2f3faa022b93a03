"""What all models share: frozen, no unknown keys, and text that YAML may have read as a number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from spark_jobs.contract.options import KNOWN_FORMATS

IDENTIFIER_PATTERN = r"^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])*\.?$"
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
MAX_VERSION = 2**31 - 1
LONGEST_IDENTIFIER = 200
LONGEST_TITLE = 250
LONGEST_BOUNDED_TEXT = 4_000
"""Characters of a path, a URL, the name of a table, or the value of an option."""
PRINTABLE_PATTERN = r"^[^\x00-\x1f\x7f]*$"
TITLE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"

PlainValue: TypeAlias = "bool | int | str | list[PlainValue] | dict[str, PlainValue] | None"


class Model(BaseModel):
    """Base of every definition: immutable, strict about types, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


@dataclass(frozen=True, slots=True)
class Flag:
    """A YAML boolean that remembers how it was written."""

    value: bool
    text: str


def read_as_text(value: Any) -> Any:
    """Return the characters as they are in the file for a scalar that YAML read as something else."""
    return getattr(value, "text", value)


def read_as_boolean(value: Any) -> Any:
    """Return the bool of a YAML boolean."""
    return value.value if isinstance(value, Flag) else value


def read_as_date(value: Any) -> Any:
    """Return the date that a text in ISO form stands for."""
    if not isinstance(value, str):
        return value
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise PydanticCustomError(
        "definition", "{found} is not a date", {"found": repr(value), "hint": "write an existing day as YYYY-MM-DD"}
    )


def to_plain(value: object) -> PlainValue:
    """Return a value as JSON can hold it: numbers with a point as their characters."""
    if isinstance(value, dict):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, Flag):
        return value.value
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return None if value is None else str(getattr(value, "text", value))


_TEXT_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_AsText = BeforeValidator(read_as_text)

Text = Annotated[str, _AsText, WithJsonSchema(_TEXT_SCHEMA, mode="validation")]
ExpressionText = Annotated[str, _AsText, WithJsonSchema({"type": [*_TEXT_SCHEMA["type"], "null"]}, mode="validation")]
"""An expression; the loader reads an unquoted NULL as text."""
NonEmptyText = Annotated[
    str,
    _AsText,
    StringConstraints(min_length=1),
    WithJsonSchema({**_TEXT_SCHEMA, "minLength": 1}, mode="validation"),
]
BoundedText = Annotated[Text, StringConstraints(max_length=LONGEST_BOUNDED_TEXT)]
PrintableBoundedText = Annotated[BoundedText, StringConstraints(pattern=PRINTABLE_PATTERN)]
"""A place that the system is asked for before any other check of it."""
NonEmptyBoundedText = Annotated[NonEmptyText, StringConstraints(max_length=LONGEST_BOUNDED_TEXT)]


def read_format(value: str) -> str:
    """Spark takes its formats in any case, and the job compares them in lower case."""
    return value.lower() if value.lower() in KNOWN_FORMATS else value


FormatName = Annotated[NonEmptyText, AfterValidator(read_format)]
"""The format of files, or jdbc."""
Title = Annotated[
    str,
    _AsText,
    StringConstraints(min_length=1, max_length=LONGEST_TITLE, pattern=TITLE_PATTERN),
    WithJsonSchema({**_TEXT_SCHEMA, "minLength": 1}, mode="validation"),
]
"""A name for people: one line."""
Identifier = Annotated[
    str,
    _AsText,
    StringConstraints(pattern=IDENTIFIER_PATTERN, max_length=LONGEST_IDENTIFIER),
    WithJsonSchema({**_TEXT_SCHEMA, "pattern": IDENTIFIER_PATTERN}, mode="validation"),
]
Name = Annotated[
    str,
    _AsText,
    StringConstraints(pattern=NAME_PATTERN, max_length=LONGEST_IDENTIFIER),
    WithJsonSchema({**_TEXT_SCHEMA, "pattern": NAME_PATTERN}, mode="validation"),
]
Boolean = Annotated[bool, BeforeValidator(read_as_boolean)]
Day = Annotated[date, BeforeValidator(read_as_date), PlainSerializer(date.isoformat, return_type=str, when_used="json")]
Version = Annotated[int, Field(ge=1, le=MAX_VERSION)]
Settings = Annotated[dict[str, Any], BeforeValidator(to_plain)]
"""A mapping that is passed on as it is."""

"""What all models share: frozen, no unknown keys, and text that YAML may have read as a number."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

IDENTIFIER_PATTERN = r"^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])*\.?$"
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"


class Model(BaseModel):
    """Base of every definition: immutable, strict about types, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def read_as_text(value: Any) -> Any:
    """Return the characters as they stand in the file for a scalar that YAML read as something else."""
    return getattr(value, "text", value)


Text = Annotated[str, BeforeValidator(read_as_text)]
NonEmptyText = Annotated[str, BeforeValidator(read_as_text), StringConstraints(min_length=1)]
Identifier = Annotated[str, BeforeValidator(read_as_text), StringConstraints(pattern=IDENTIFIER_PATTERN)]
Name = Annotated[str, BeforeValidator(read_as_text), StringConstraints(pattern=NAME_PATTERN)]

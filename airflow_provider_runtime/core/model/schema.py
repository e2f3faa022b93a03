"""Data types and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_provider_runtime.core.model.base import Boolean, Model, Name, Text
from spark_jobs.contract.system_columns import SYSTEM_TYPES

TypeName = Literal["string", "integer", "decimal", "boolean", "date", "timestamp"]
MAX_PRECISION = 38
INTEGER_DIGITS = 19
"""Digits that an integer may have."""
DEFAULT_PRECISION = 20
DEFAULT_SCALE = 6


@dataclass(frozen=True, slots=True)
class DataType:
    """A type of the language; `null` is the type of the literal NULL alone."""

    kind: Literal["string", "integer", "decimal", "boolean", "date", "timestamp", "null"]
    precision: int = 0
    scale: int = 0

    @property
    def ddl(self) -> str:
        """The type as Spark spells it."""
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return {"integer": "bigint", "null": "void"}.get(self.kind, self.kind)

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind


STRING = DataType("string")
INTEGER = DataType("integer")
BOOLEAN = DataType("boolean")
DATE = DataType("date")
TIMESTAMP = DataType("timestamp")
NULL = DataType("null")


def make_decimal(precision: int = DEFAULT_PRECISION, scale: int = DEFAULT_SCALE) -> DataType:
    """Return a decimal type."""
    return DataType("decimal", precision, scale)


class Column(Model):
    """A declared column of a table."""

    name: Name
    """Name of the column."""
    type: TypeName
    """Type of the column."""
    precision: int | None = Field(default=None, ge=1, le=MAX_PRECISION)
    """Digits of a decimal, 1 to 38; default 20."""
    scale: int | None = Field(default=None, ge=0, le=MAX_PRECISION)
    """Digits after the point, at most the precision; default 6."""
    nullable: Boolean = True
    """Whether the source may have NULL there; checked when it is loaded, not on what operations make."""
    description: Text | None = None
    """What the column holds."""

    @model_validator(mode="after")
    def _check_decimal(self) -> Column:
        if self.type != "decimal" and (self.precision is not None or self.scale is not None):
            raise PydanticCustomError(
                "definition",
                "precision and scale belong to the type decimal only, this column is of type {type}",
                {
                    "type": self.type,
                    "field": "precision" if self.precision is not None else "scale",
                    "hint": "remove them, or write type: decimal",
                },
            )
        if self.type == "decimal" and self.data_type.scale > self.data_type.precision:
            raise PydanticCustomError(
                "definition",
                "scale {scale} is greater than precision {precision}",
                {
                    "scale": self.data_type.scale,
                    "precision": self.data_type.precision,
                    "field": "scale" if self.scale is not None else "precision",
                    "hint": f"a decimal without them has precision {DEFAULT_PRECISION} and scale {DEFAULT_SCALE}",
                },
            )
        return self

    @property
    def data_type(self) -> DataType:
        """The column's type with its defaults filled in."""
        if self.type != "decimal":
            return DataType(self.type)
        return make_decimal(
            DEFAULT_PRECISION if self.precision is None else self.precision,
            DEFAULT_SCALE if self.scale is None else self.scale,
        )


_BY_DDL = {data_type.ddl: data_type for data_type in (STRING, INTEGER, BOOLEAN, DATE, TIMESTAMP)}


def read_ddl(text: str) -> DataType:
    """Return the type that Spark spells so."""
    if text.startswith("decimal("):
        precision, _, scale = text[len("decimal(") : -1].partition(",")
        return make_decimal(int(precision), int(scale))
    return _BY_DDL[text]


SYSTEM_COLUMN_TYPES = {name: _BY_DDL[ddl] for name, ddl in SYSTEM_TYPES.items()}
SYSTEM_COLUMN_NAMES = frozenset(SYSTEM_COLUMN_TYPES)
"""Names that cannot be declared."""
TEMPORAL_COLUMN_NAMES = frozenset({"_period", "_period_from", "_period_to"})

"""Iceberg's types, and those of Spark SQL."""

from __future__ import annotations

import re

from pyiceberg import types
from pyiceberg.schema import Schema

from airflow_provider_runtime.core.tables.ports import TableColumn

_SPARK_TYPES: dict[type[types.IcebergType], str] = {
    types.StringType: "string",
    types.LongType: "bigint",
    types.IntegerType: "int",
    types.BooleanType: "boolean",
    types.DateType: "date",
    types.TimestamptzType: "timestamp",
    types.TimestampType: "timestamp_ntz",
    types.DoubleType: "double",
    types.FloatType: "float",
    types.BinaryType: "binary",
    types.FixedType: "binary",
}
_ICEBERG_TYPES: dict[str, types.IcebergType] = {
    "string": types.StringType(),
    "bigint": types.LongType(),
    "boolean": types.BooleanType(),
    "date": types.DateType(),
    "timestamp": types.TimestamptzType(),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def to_spark(found: types.IcebergType) -> str:
    """Return Spark's name of a type; one that Spark has no plain column for keeps Iceberg's name."""
    if isinstance(found, types.DecimalType):
        return f"decimal({found.precision},{found.scale})"
    return _SPARK_TYPES.get(type(found), str(found))


def to_iceberg(spelled: str) -> types.IcebergType:
    """Return Iceberg's type for a column that a run writes."""
    if decimal := _DECIMAL.fullmatch(spelled):
        return types.DecimalType(int(decimal[1]), int(decimal[2]))
    return _ICEBERG_TYPES[spelled]


def list_columns(schema: Schema) -> tuple[TableColumn, ...]:
    """Return the columns of a schema."""
    return tuple(TableColumn(field.name, to_spark(field.field_type), not field.required) for field in schema.fields)
